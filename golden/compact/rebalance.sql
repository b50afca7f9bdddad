-- Rows are numbered through anew, in buckets of one size.
-- !acid show: files
CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (3), (1), (2), (5);
INSERT INTO t VALUES (4), (6);
SELECT ROW__ID, * FROM t;
ALTER TABLE t COMPACT 'rebalance' CLUSTERED INTO 2 BUCKETS AND WAIT;
SELECT ROW__ID, * FROM t;
-- a base alone is not written again: its name would be the same
ALTER TABLE t COMPACT 'rebalance' CLUSTERED INTO 3 BUCKETS AND WAIT ORDER BY id DESC;
INSERT INTO t VALUES (7);
ALTER TABLE t COMPACT 'rebalance' CLUSTERED INTO 3 BUCKETS AND WAIT ORDER BY id DESC;
SELECT ROW__ID, * FROM t;
