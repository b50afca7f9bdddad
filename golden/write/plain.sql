-- Tables without transactions are sources: inserted into and read, never updated.
-- !acid show: files
CREATE TABLE p (id INT, name STRING) STORED AS ORC;
SELECT * FROM p;
INSERT INTO p VALUES (1, 'a'), (2, 'b');
INSERT INTO p SELECT id + 10, name FROM p;
INSERT INTO p VALUES (3, NULL);
SELECT * FROM p;
-- !acid error: NotTransactionalTableError
UPDATE p SET name = 'x';
