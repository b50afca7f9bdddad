-- Compactions that cannot be, in Hive's words; nothing is enqueued.
CREATE TABLE t (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE b (id INT) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE bp (id INT) PARTITIONED BY (ds STRING) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE p (id INT) PARTITIONED BY (ds STRING, hr INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE plain (id INT) STORED AS ORC;
CREATE VIEW v AS SELECT id FROM t;
ALTER TABLE bp ADD PARTITION (ds='a');
ALTER TABLE p ADD PARTITION (ds='a', hr=1);
-- !acid error: BindError
ALTER TABLE t COMPACT 'medium';
-- !acid error: BindError
ALTER TABLE plain COMPACT 'major';
-- !acid error: BindError
ALTER TABLE v COMPACT 'major';
-- !acid error: TableNotFoundError
ALTER TABLE nope COMPACT 'major';
-- !acid error: BindError
ALTER TABLE p PARTITION (ds='nope', hr=1) COMPACT 'major';
-- !acid error: BindError
ALTER TABLE p PARTITION (ds='a') COMPACT 'major';
-- !acid error: BindError
ALTER TABLE t PARTITION (ds='a') COMPACT 'major';
-- !acid error: BindError
ALTER TABLE b COMPACT 'rebalance';
-- !acid error: BindError
ALTER TABLE bp PARTITION (ds='a') COMPACT 'rebalance';
-- !acid error: ColumnNotFoundError
ALTER TABLE t COMPACT 'rebalance' ORDER BY nam;
-- !acid error: BindError
SHOW COMPACTIONS TYPE 'medium';
-- !acid error: BindError
SHOW COMPACTIONS STATUS 'done';
SHOW COMPACTIONS;
-- inside a transaction they may be looked at and taken back, not asked for: the request would stay if it is rolled back
START TRANSACTION;
-- !acid error: BindError
ALTER TABLE t COMPACT 'major';
SHOW COMPACTIONS;
ABORT COMPACTIONS 1;
ROLLBACK;
-- a dry run says what would be asked for
SET acidsql.dry.run=true;
ALTER TABLE t COMPACT 'major';
RESET acidsql.dry.run;
SHOW COMPACTIONS;
EXPLAIN ALTER TABLE p COMPACT 'minor';
EXPLAIN ALTER TABLE p PARTITION (ds='a', hr=1) COMPACT 'minor' AND WAIT;
EXPLAIN LOCKS ALTER TABLE t COMPACT 'major';
EXPLAIN LOCKS SHOW COMPACTIONS;
EXPLAIN SHOW COMPACTIONS;
EXPLAIN ABORT COMPACTIONS 1 2;
-- a table without a partition asks for nothing
ALTER TABLE p DROP PARTITION (ds='a');
ALTER TABLE p COMPACT 'major';
