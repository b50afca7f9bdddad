-- Every primitive and nested type through insert, update and read; Hive's store casts.
CREATE TABLE types (b BOOLEAN, t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, c DECIMAL(10,2), st STRING, ch CHAR(5), vc VARCHAR(3), bi BINARY, da DATE, ts TIMESTAMP, ar ARRAY<INT>, ma MAP<STRING,INT>, r STRUCT<x:INT,y:STRING>) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO types VALUES (TRUE, 1, 2, 3, 4, 1.5, 2.5, 3.456, 'text', 'ab', 'abcdef', 'bin', DATE '2024-02-29', TIMESTAMP '2024-02-29 12:34:56.789', array(1, 2), map('k', 1), named_struct('x', 1, 'y', 'z'));
INSERT INTO types (i, st, ts, da) VALUES (2147483647, '', '1999-12-31 23:59:59', '1970-01-01');
INSERT INTO types (i) VALUES (NULL);
INSERT INTO types (i, l, c, da, st) VALUES ('not a number', '42', 123456789012, 'no date', 5);
SELECT * FROM types;
UPDATE types SET ar = array(9), r = named_struct('x', 2, 'y', NULL), ts = TIMESTAMP '1969-12-31 23:59:58.5', ch = 'toolong', vc = 12345 WHERE b;
SELECT * FROM types;
DELETE FROM types WHERE ma['k'] = 1;
SELECT count(*), count(i) FROM types;
-- Before 1582 Java knows two calendars; the days are those of today's, and stay the same when they are copied.
INSERT INTO types (i, da, ts, ma, r) SELECT 7, DATE '1200-03-04', TIMESTAMP '1582-10-04 01:02:03', map('k', year(DATE '0001-01-01')), NULL;
INSERT INTO types SELECT * FROM types WHERE i = 7;
UPDATE types SET i = 8 WHERE da = DATE '1200-03-04';
SELECT i, da, CAST(da AS STRING), ts, ma FROM types WHERE da < DATE '1582-10-15';
-- Maps keep all their entries whatever their keys are.
CREATE TABLE maps (d MAP<DATE,STRING>, t MAP<TIMESTAMP,INT>, l ARRAY<MAP<DATE,INT>>) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO maps SELECT map(DATE '1200-03-04', 'a', DATE '2024-02-29', 'b', DATE '2024-03-01', NULL), map(TIMESTAMP '1960-01-01 00:00:00', 1, TIMESTAMP '2024-01-01 00:00:00', 2), array(map(DATE '2024-01-01', 1, DATE '2024-01-02', 2), NULL);
INSERT INTO maps SELECT NULL, NULL, NULL;
UPDATE maps SET t = NULL WHERE d IS NOT NULL;
SELECT map_entries(d), d[DATE '2024-02-29'], t, l FROM maps;
