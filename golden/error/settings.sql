-- our own names
SET acidsql.write.path=sideways;
SET acidsql.write.pth=small;
SET ACIDSQL.ANSI=true;
SET acidsql.ansi=perhaps;
SET acidsql.write.driver.max.bytes=64 parsecs;
SET acidsql.read.deletes.max.events=many;

-- Hive's names, in Hive's words
SET hive.txn.xlock.write=perhaps;
SET hive.exec.dynamic.partition.mode=loose;
SET hive.lock.numretries=1.5;
SET hive.lock.numretries=99999999999;
SET hive.compactor.wait.timeout=5s;
SET hive.compactor.delta.pct.threshold=a tenth;
SET hive.compactor.initiator.failed.compacts.threshold=99;
SET metastore.compactor.fetch.size=1;
SET hive.txn.timeout=soon;
SET hive.txn.timeout=5 parsecs;
SET hive.txn.timeout=1.5s;
SET metastore.txn.timeout=0;
SET hive.lock.sleep.between.retries=-3;
SET hiveconf:hive.lock.numretries=;

-- name spaces
SET hivevar:nosuch;
SET hiveconf:nosuch;
SET system:nosuch;
SET env:NO_SUCH_VARIABLE_OF_ACIDSQL;
SET env:HOME=/tmp;
SET metaconf:metastore.try.direct.sql;

RESET -d;
RESET -d nosuch;
RESET hivevar:x;
