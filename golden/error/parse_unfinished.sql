-- the text ends too early
UPDATE t SET a =;
INSERT INTO t;
INSERT INTO t VALUES (1, (2);
UPDATE t SET a = CASE WHEN b THEN 1;
CREATE TABLE t (a array<struct<b:int>);
SHOW;
EXPLAIN;
MERGE INTO t USING s ON t.a = s.a WHEN MATCHED;
SELECT `a
  FROM t;
