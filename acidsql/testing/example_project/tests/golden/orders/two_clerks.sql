-- Two clerks take the same order at once: the one who commits last is told so.
CREATE TABLE orders (id INT, clerk STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO orders VALUES (1, 'nobody');
START TRANSACTION;
UPDATE orders SET clerk = 'ann' WHERE id = 1;
-- session b
START TRANSACTION;
UPDATE orders SET clerk = 'bob' WHERE id = 1;
-- session a
COMMIT;
-- session b
-- expect error WriteConflictError
COMMIT;
SELECT * FROM orders;
