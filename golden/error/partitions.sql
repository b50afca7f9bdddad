-- Every refusal of a PARTITION clause of INSERT, with its place.
CREATE TABLE p (id INT, v STRING) PARTITIONED BY (ds DATE, hr INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO p PARTITION (ds='2024-01-01', hour=5) VALUES (1, 'a');
INSERT INTO p PARTITION (ds='2024-01-01') VALUES (1, 'a');
INSERT INTO p PARTITION (ds, hr=5) SELECT 1, 'a', DATE '2024-01-01';
INSERT INTO p PARTITION (ds='2024-01-01', ds='2024-01-02', hr) SELECT 1, 'a', 1;
INSERT INTO p PARTITION (ds='yesterday', hr=5) VALUES (1, 'a');
INSERT INTO p PARTITION (ds='2024-01-01', hr=1 + 1) VALUES (1, 'a');
INSERT INTO p PARTITION (ds='2024-01-01', hr=5) VALUES (1, 'a', 5);
INSERT INTO p PARTITION (ds='2024-01-01', hr) VALUES (1, 'a');
INSERT INTO p VALUES (1, 'a');
INSERT INTO p PARTITION (ds, hr) (id, vv) SELECT 1, 'a', NULL, NULL;
UPDATE p SET hr = 5;
UPDATE p SET v = 'a' WHERE dss IS NULL;
SET hive.exec.dynamic.partition.mode=strict;
INSERT INTO p PARTITION (ds, hr) SELECT 1, 'a', NULL, 1;
SET hive.exec.dynamic.partition.mode=nonstrict;
SET hive.exec.dynamic.partition=false;
INSERT INTO p PARTITION (ds='2024-01-01', hr) SELECT 1, 'a', 1;
