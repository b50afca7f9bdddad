SET;
SET -v;
SET hive.exec.dynamic.partition.mode;
SET hive.exec.dynamic.partition.mode=nonstrict;
set  hivevar:x =  a = 'b' -- c
;
SET env:HOME;
SET a.b='x;y';
SET empty=;
RESET;
RESET hive.x;
RESET hive.x -d
  hive.y;
