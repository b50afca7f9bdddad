-- What is asked for is enqueued, once, and shown with Hive's columns.
CREATE TABLE t (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE p (id INT) PARTITIONED BY (ds STRING, hr INT) STORED AS ORC TBLPROPERTIES ('transactional'='true', 'compactorthreshold.hive.compactor.delta.num.threshold'='0');
CREATE TABLE only (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');
INSERT INTO p PARTITION (ds='a', hr=1) VALUES (1);
INSERT INTO p PARTITION (ds='b', hr=2) VALUES (2);
ALTER TABLE p ADD PARTITION (ds='c', hr=3);
SHOW COMPACTIONS;
ALTER TABLE t COMPACT 'minor';
SHOW COMPACTIONS;
-- in Hive's words: one is there already
-- !acid error: BindError
ALTER TABLE t COMPACT 'MAJOR';
ALTER TABLE p PARTITION (ds='b', hr=2) COMPACT 'Major' POOL 'night' WITH OVERWRITE TBLPROPERTIES ('compactor.a'='b');
-- of a table with partitions those that need it, but for those that are there already; Hive asks thresholds of each
SET acidsql.strict.hive=true;
ALTER TABLE p COMPACT 'minor';
-- !acid error: BindError
ALTER TABLE p COMPACT 'minor';
SET acidsql.strict.hive=false;
-- !acid error: BindError
ALTER TABLE p PARTITION (ds='a', hr=1) COMPACT 'minor';
-- a rebalance of a table that takes inserts only is a major compaction
ALTER TABLE only COMPACT 'rebalance' CLUSTERED INTO 2 BUCKETS ORDER BY id DESC;
SHOW COMPACTIONS;

-- which ones, and in which order
SHOW COMPACTIONS COMPACTIONID = 2;
SHOW COMPACTIONS COMPACTIONID = 99;
SHOW COMPACTIONS SCHEMA default ORDER BY compactionid DESC LIMIT 2;
SHOW COMPACTIONS p;
SHOW COMPACTIONS p PARTITION (ds='a', hr=1);
SHOW COMPACTIONS POOL 'night';
SHOW COMPACTIONS POOL 'default' TYPE 'minor';
SHOW COMPACTIONS t STATUS 'ready_for_cleaning';
SHOW COMPACTIONS STATUS 'Initiated' ORDER BY tabname DESC, partname, type LIMIT 3;

-- what is only initiated can be taken back
ABORT COMPACTIONS 4 1 99 1;
ABORT COMPACTIONS 1;
SHOW COMPACTIONS t;
ALTER TABLE t COMPACT 'rebalance' CLUSTERED INTO 2 BUCKETS ORDER BY id DESC;
SHOW COMPACTIONS t ORDER BY compactionid;

-- they follow their tables
ALTER TABLE t RENAME TO u;
SHOW COMPACTIONS u ORDER BY compactionid;
ALTER TABLE p DROP PARTITION (ds='a');
SHOW COMPACTIONS p;
DROP TABLE u;
CREATE TABLE u (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
SHOW COMPACTIONS u;
SHOW COMPACTIONS ORDER BY compactionid;
