-- A query is one opaque slice: whatever Spark's SQL can do.
SELECT 1;
select a.id, b.* from db.t a join `odd name`.`t 2` b on a.id <=> b.id where a.v rlike '^x;y$' order by 1 desc nulls last limit 3;
SELECT /*+ BROADCAST(s), COALESCE(3) */ * FROM t JOIN s USING (id);
SELECT transform(arr, x -> x + 1), aggregate(arr, 0, (acc, x) -> acc + x), m['k'], s.f.g, v::decimal(10,2) FROM t;
SELECT * FROM parquet.`/data/a b.parquet` WHERE ROW__ID.writeid > 3;
SELECT sum(n) OVER (PARTITION BY k ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM t WINDOW w AS (ORDER BY d);
SELECT * FROM t PIVOT (sum(n) FOR k IN ('a' AS a, 'b' AS b));
SELECT * FROM t LATERAL VIEW OUTER explode(arr) e AS x TABLESAMPLE (10 PERCENT);
SELECT a || 'b' AS insert_, case when x then (case when y then 1 end) else 2 end FROM t;
WITH q AS (SELECT 1 AS a), r (b) AS (SELECT a FROM q) SELECT * FROM q, r;
FROM t SELECT id, v WHERE v IS NOT NULL;
(SELECT 1) UNION ALL (SELECT 2 EXCEPT SELECT 3);
((SELECT 1));
VALUES (1, 'a'), (2, 'b');
TABLE t;
SELECT 'it\'s', "double \"quoted\"", r'raw\', 'semi;colon', `back``tick;` -- comment; with 'quote
 , 1.0BD, 10L, 1e3, .5, 0x1F /* a ; /* nested */ comment */ FROM t;
SELECT 'été 😀 日本語' AS `имя`, 😀 FROM t;
SELECT ${hivevar:x}, '${env:HOME}/x', ${hiveconf:a.b}, t.${c} FROM `${system:user.name}`.t_${d};
FROM (FROM s MAP a, b USING 'x' AS c) m SELECT c;
SELECT a
  ,b
FROM	t;
