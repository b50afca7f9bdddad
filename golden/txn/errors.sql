-- What fails in a transaction is undone alone; what could not be undone is refused; how transactions begin and end.
CREATE TABLE t (id INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE p (id INT) PARTITIONED BY (k STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE plain (id INT) STORED AS ORC;
INSERT INTO t VALUES (1, 'a'), (2, 'b');
-- !acid error: BindError
COMMIT;
-- !acid error: BindError
ROLLBACK;
START TRANSACTION;
-- !acid error: InterfaceError
START TRANSACTION;
-- !acid error: InterfaceError
BEGIN;
-- No transaction has begun yet: that is for the first statement to do.
-- !acid error: BindError
CREATE TABLE u (id INT);
INSERT INTO t VALUES (3, 'c');
-- !acid error: BindError
CREATE TABLE u (id INT);
-- !acid error: BindError
DROP TABLE t;
-- !acid error: BindError
ALTER TABLE p ADD PARTITION (k = 'x');
-- !acid error: BindError
INSERT INTO plain VALUES (1);
-- !acid error: CardinalityError
MERGE INTO t USING (SELECT explode(array(1, 1)) AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE;
-- !acid error: TableNotFoundError
INSERT INTO nothing VALUES (1);
-- The first leg has made a partition; it goes with the statement.
-- !acid error: ExecutionError
FROM t INSERT INTO p SELECT id, 'lost' INSERT INTO t SELECT id, raise_error('sour');
SELECT * FROM t;
SELECT * FROM p;
-- !acid show: files
COMMIT;
-- !acid show: rows
SELECT * FROM t;
SHOW PARTITIONS p;
START TRANSACTION READ ONLY;
-- !acid error: BindError
DELETE FROM t;
SELECT count(*) FROM t;
ROLLBACK WORK;
-- With autocommit off a statement on rows begins a transaction, and DDL ends one that has only read.
SET AUTOCOMMIT FALSE;
-- !acid error: BindError
INSERT INTO plain VALUES (1);
DELETE FROM t WHERE id = 1;
-- !acid error: InterfaceError
START TRANSACTION;
ROLLBACK;
SELECT * FROM t;
CREATE TABLE u (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO u VALUES (1);
-- !acid error: BindError
DROP TABLE u;
SET AUTOCOMMIT TRUE;
DROP TABLE u;
-- !acid error: BindError
COMMIT;
SET acidsql.plain.in.transaction=warn;
START TRANSACTION;
INSERT INTO t VALUES (4, 'd');
-- What the transaction sees is copied at once, and stays when it is taken back.
INSERT INTO plain SELECT id FROM t;
ROLLBACK;
-- !acid show: rows
SELECT * FROM plain;
