-- Open orders are cancelled, by one new file of rows; one that was sent is left as it is.
CREATE TABLE orders (id INT, state STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO orders VALUES (1, 'open'), (2, 'open'), (3, 'sent');
-- !acid show: files
UPDATE orders SET state = 'cancelled' WHERE state = 'open';
-- !acid show: rows
SELECT * FROM orders;
