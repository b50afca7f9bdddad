-- current_database() is the session's database, whoever makes the rows: the driver alone or Spark
CREATE DATABASE sales;
USE sales;
CREATE TABLE t (id INT, db STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');

SELECT current_database();
SELECT DISTINCT CURRENT_SCHEMA(), current_database() AS d, `current_database`() e;
INSERT INTO t VALUES (1, current_database()), (2, 'x'), (3, concat('in ', current_database()));
INSERT INTO t SELECT 4, current_database();
SELECT id, db FROM t WHERE db = current_database() ORDER BY id;
SELECT current_database(), count(*) FROM t;
SELECT id, current_database() = db AS here FROM t ORDER BY id, current_database(), db;
SELECT t.id, (SELECT current_database()) AS d FROM t JOIN t AS u ON t.id = u.id AND u.db = current_database();
UPDATE t SET db = upper(current_database()) WHERE id = 2 AND current_database() = 'sales';
MERGE INTO t USING (SELECT 1 AS id, current_database() AS db) s ON t.id = s.id
WHEN MATCHED AND s.db = current_database() THEN UPDATE SET db = concat(s.db, '.', current_schema());
SELECT * FROM t;

-- a view tells the database of whoever reads it, as in Hive
CREATE VIEW v AS SELECT id, current_database() AS db FROM t WHERE db = current_database();
CREATE TABLE c STORED AS ORC AS SELECT current_database(), v.db FROM v;
SELECT * FROM c;
USE default;
SELECT * FROM sales.v;
SELECT current_database() AS d, id FROM sales.t WHERE current_database() <> db AND id = 1;

-- a text, a comment and a column are not meant
SELECT 'current_database()' AS text, s.f AS f FROM (SELECT named_struct('f', 1 /* current_database() */) AS s) q;
