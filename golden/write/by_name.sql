-- INSERT .. BY NAME: a query's columns go to the table's of their names.
-- !acid show: rows
CREATE TABLE s (id INT, name STRING, day STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE t (name STRING, note STRING DEFAULT 'none', id BIGINT, n TINYINT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE p (id INT, name VARCHAR(3)) PARTITIONED BY (day STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO s VALUES (1, 'ann', 'mon'), (2, 'robert', 'tue');
INSERT INTO t BY NAME SELECT id, name FROM s;
INSERT INTO t BY NAME SELECT 300 AS N, upper(name) AS Name FROM s WHERE id = 1;
SELECT * FROM t ORDER BY id, n;
INSERT OVERWRITE TABLE t BY NAME SELECT id, 'new' AS note FROM s;
SELECT * FROM t ORDER BY id;
INSERT INTO p BY NAME SELECT day, name, id FROM s;
INSERT INTO p PARTITION (day) BY NAME SELECT * FROM s;
INSERT INTO p PARTITION (day = 'wed') BY NAME SELECT name FROM s;
SELECT * FROM p ORDER BY day, id, name;
-- What only Spark can tell of names is told when it has looked at the query.
INSERT INTO t BY NAME SELECT * FROM (SELECT name, id FROM s) q JOIN (SELECT 1 AS n) r ON q.id = r.n;
-- !acid error: ColumnNotFoundError
INSERT INTO t BY NAME SELECT * FROM (SELECT name AS nme, id FROM s) q JOIN (SELECT 1 AS n) r ON q.id = r.n;
-- !acid error: BindError
INSERT INTO t BY NAME SELECT q.*, r.* FROM (SELECT id FROM s) q JOIN (SELECT 1 AS id) r ON q.id = r.id;
WITH q AS (SELECT name, id FROM s) INSERT INTO t BY NAME SELECT id AS n, name FROM q WHERE id = 2;
FROM s INSERT INTO t BY NAME SELECT id AS n INSERT INTO p PARTITION (day = 'thu') BY NAME SELECT name, id WHERE id = 2;
SELECT * FROM t ORDER BY id, n, name;
SELECT * FROM p WHERE day = 'thu';
