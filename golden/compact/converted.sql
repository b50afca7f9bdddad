-- Original files come into a base with the ROW__IDs that readers have given their rows.
CREATE TABLE o (id INT) STORED AS ORC;
INSERT INTO o VALUES (1), (2);
INSERT INTO o VALUES (3);
ALTER TABLE o SET TBLPROPERTIES ('transactional'='true');
-- !acid show: files
INSERT INTO o VALUES (4);
SELECT ROW__ID, * FROM o;
-- a minor one leaves them as they are
ALTER TABLE o COMPACT 'minor' AND WAIT;
ALTER TABLE o COMPACT 'major' AND WAIT;
SELECT ROW__ID, * FROM o;
