-- DEFAULT fills what is not given; NOT NULL and CHECK refuse rows, and the statement with them.
CREATE TABLE t (id INT NOT NULL, v STRING DEFAULT 'dflt', n INT CHECK (n > 0), at DATE DEFAULT CAST('2024-02-29' AS DATE)) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE d (id INT NOT NULL, v STRING DEFAULT 'dflt', n INT DEFAULT 7) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE s (id INT, v STRING, n INT) STORED AS ORC;
INSERT INTO s VALUES (1, 'new', 5), (9, NULL, NULL), (NULL, 'x', 1);
INSERT INTO t VALUES (1, 'a', 1, DEFAULT), (2, DEFAULT, NULL, NULL);
INSERT INTO t (n, id) VALUES (3, 3);
INSERT INTO t (id) SELECT 4;
SELECT * FROM t;
-- !acid error: NotNullError
INSERT INTO t VALUES (NULL, 'a', 1, NULL);
-- !acid error: NotNullError
INSERT INTO t (v) VALUES ('a');
-- !acid error: NotNullError
INSERT INTO t (id, v) SELECT id, v FROM s;
-- !acid error: IntegrityError
INSERT INTO t (id, n) VALUES (5, 0);
-- !acid error: IntegrityError
INSERT INTO t (id, n) SELECT id, -n FROM s WHERE id IS NOT NULL;
-- !acid error: IntegrityError
UPDATE t SET n = -1 WHERE id = 1;
-- !acid error: NotNullError
UPDATE t SET id = NULL WHERE id = 1;
UPDATE t SET v = DEFAULT, n = 10 WHERE id = 1;
-- !acid error: NotNullError
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, 1);
-- !acid error: IntegrityError
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = -s.n;
-- A rule is asked only of rows that are written.
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = DEFAULT WHEN NOT MATCHED AND s.id > 1 THEN INSERT (id) VALUES (s.id);
SELECT * FROM t;
-- Nor of rows that a condition leaves out by being NULL, or a join by having no partner.
CREATE TABLE k (id INT) STORED AS ORC;
INSERT INTO k VALUES (70);
SET spark.sql.codegen.wholeStage=false;
INSERT INTO t (id, n) SELECT n + 50, id FROM s WHERE n > 0 OR id < 0;
INSERT INTO t (id, n) SELECT x, y FROM VALUES (60, -1), (70, 1) AS v (x, y) JOIN k ON x = k.id;
SET spark.sql.codegen.wholeStage=true;
SELECT id, n FROM t WHERE id >= 50;
DELETE FROM t WHERE id >= 50;
INSERT INTO d (id) VALUES (1), (2);
INSERT INTO d VALUES (3, DEFAULT, DEFAULT), (4, NULL, NULL);
INSERT INTO d (id, n) SELECT id, n FROM s WHERE id = 9;
-- !acid error: NotNullError
INSERT INTO d (n) VALUES (1);
SELECT * FROM d;
DELETE FROM t;
