-- defaults, Hive's own or acidsql's
SET hive.txn.timeout;
SET hive.exec.dynamic.partition.mode;
SET hive.mapred.mode;
SET acidsql.write.driver.max.bytes;
SET nosuch;
SET;

-- a value is shown as it was written; switches and words in lower case
SET hive.txn.timeout=5 min;
SET hive.txn.timeout;
SET hive.exec.dynamic.partition.mode=NonStrict;
SET hive.exec.dynamic.partition.mode;
SET hive.txn.xlock.write = FALSE;
SET hive.txn.xlock.write;

-- two names of one value
SET metastore.txn.timeout;
SET metastore.txn.timeout=7;
SET hive.txn.timeout;

-- unknown names are remembered
SET hive.some.new.name=x y;
SET tez.queue.name=etl;
SET hiveconf:hive.some.new.name;

-- variables
SET hivevar:day=2024-06-01;
SET hivevar:day;
SET day;
SET system:my.property=1;
SET system:my.property;

-- what must not be read
SET fs.s3a.secret.key=abc;
SET fs.s3a.secret.key;

SET;
RESET tez.queue.name hive.txn.xlock.write;
RESET -d hive.txn.timeout;
SET;
RESET;
SET;
SET hivevar:day;
