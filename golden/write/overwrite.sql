-- INSERT OVERWRITE makes a base; several INSERTs of one statement become visible together.
-- !acid show: files
CREATE TABLE t (id INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE b (id INT, v STRING) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE p (id INT, v STRING) STORED AS ORC;
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
DELETE FROM t WHERE id = 2;
INSERT OVERWRITE TABLE t SELECT id + 10, v FROM t;
SELECT ROW__ID, * FROM t;
INSERT INTO t VALUES (4, 'd');
-- !acid show: rows
UPDATE t SET v = 'x' WHERE id IN (4, 11);
-- !acid show: files
SELECT ROW__ID.writeid, * FROM t;
INSERT OVERWRITE TABLE t VALUES (7, 'g');
SELECT * FROM t;
INSERT OVERWRITE TABLE t SELECT * FROM t WHERE false;
SELECT count(*) FROM t;
INSERT INTO t VALUES (8, 'h');
SELECT * FROM t;
INSERT INTO p VALUES (1, 'a'), (2, 'b');
INSERT OVERWRITE TABLE p SELECT id * 2, v FROM p;
SELECT * FROM p;
-- !acid error: BindError
FROM p INSERT INTO t SELECT id, 'from p' INSERT INTO t SELECT id, v;
FROM p INSERT INTO t SELECT id, 'from p' WHERE id > 2 INSERT OVERWRITE TABLE b SELECT id + 100, upper(v);
SELECT * FROM t;
SELECT * FROM b;
WITH q AS (SELECT max(id) AS m FROM t) INSERT INTO b SELECT m, 'max' FROM q;
SELECT * FROM b;
TRUNCATE TABLE t;
SELECT count(*) FROM t;
TRUNCATE TABLE p;
SELECT * FROM p;
