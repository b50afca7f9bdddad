-- Joins, set operations, WITH, sub-queries, views and windows, of tables that look alike.
CREATE TABLE customers (id INT, name STRING, region STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE suppliers (id INT, name STRING, region STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE orders (id INT, customer INT, amount DECIMAL(8,2)) PARTITIONED BY (day STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO customers VALUES (1, 'ann', 'north'), (2, 'bob', 'south'), (3, 'cy', NULL), (NULL, 'dan', 'north');
INSERT INTO suppliers VALUES (2, 'bob', 'south'), (3, 'eve', 'north'), (4, 'fay', NULL), (NULL, 'gil', 'west');
INSERT INTO orders PARTITION (day) VALUES (10, 1, 5.00, 'mon'), (11, 1, 7.50, 'tue'), (12, 2, 1.25, 'mon'), (13, 9, 2.00, 'tue'), (14, NULL, 8.00, 'wed');
-- Joins: NULL has no match.
SELECT c.name, o.id, o.amount FROM customers c JOIN orders o ON o.customer = c.id ORDER BY o.id;
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON o.customer = c.id AND o.amount > 6 ORDER BY c.name, o.id;
SELECT c.name, o.id FROM customers c RIGHT JOIN orders o ON o.customer = c.id ORDER BY o.id;
SELECT c.id, s.id FROM customers c FULL OUTER JOIN suppliers s ON c.id = s.id ORDER BY 1, 2;
SELECT name FROM customers c LEFT SEMI JOIN orders o ON o.customer = c.id ORDER BY name;
SELECT name FROM customers c LEFT ANTI JOIN orders o ON o.customer = c.id ORDER BY name;
SELECT region, c.name, s.name FROM customers c JOIN suppliers s USING (region) ORDER BY 1, 2, 3;
SELECT count(*) FROM customers CROSS JOIN suppliers;
SELECT c.name, s.name FROM customers c, suppliers s WHERE c.id > s.id ORDER BY 1, 2;
SELECT c.name, o.day, s.name FROM customers c JOIN orders o ON o.customer = c.id LEFT JOIN suppliers s ON s.id = c.id AND s.name = c.name ORDER BY o.id;
SELECT c.region, sum(o.amount) AS total, count(DISTINCT o.day) AS days, avg(o.amount) AS mean FROM customers c JOIN orders o ON c.id = o.customer GROUP BY c.region ORDER BY c.region;
-- Set operations: NULLs are equal.
SELECT id, region FROM customers UNION SELECT id, region FROM suppliers ORDER BY id, region;
SELECT region FROM customers INTERSECT SELECT region FROM suppliers ORDER BY region;
SELECT id FROM customers EXCEPT SELECT id FROM suppliers ORDER BY id;
SELECT id FROM customers UNION ALL SELECT id FROM suppliers MINUS SELECT customer FROM orders ORDER BY id DESC LIMIT 2;
SELECT max(k) AS k FROM (SELECT id AS k FROM customers UNION ALL SELECT amount FROM orders) u;
SELECT id FROM customers UNION ALL SELECT id FROM suppliers EXCEPT ALL SELECT customer FROM orders ORDER BY id;
SELECT customer FROM orders INTERSECT ALL (SELECT 1 UNION ALL SELECT 1 UNION ALL SELECT 1 UNION ALL SELECT 9) ORDER BY customer;
-- USING and NATURAL: the common columns come first, once.
SELECT * FROM customers c FULL JOIN suppliers s USING (id) ORDER BY id, c.name, s.name;
SELECT id, c.id AS theirs, s.* FROM customers c RIGHT JOIN suppliers s USING (id) ORDER BY id;
SELECT * FROM customers NATURAL JOIN suppliers;
-- Groups of expressions.
SELECT upper(substr(name, 1, 1)) AS letter, count(*) AS n FROM customers GROUP BY letter ORDER BY letter;
SELECT CASE WHEN amount > 4 THEN 'much' ELSE 'little' END AS size, sum(amount) AS total, rank() OVER (ORDER BY sum(amount) DESC) AS place FROM orders GROUP BY 1 ORDER BY 1;
SELECT customer IS NULL AS nobody, max(id) - 10 AS last FROM orders GROUP BY customer IS NULL HAVING count(*) > 0 ORDER BY nobody;
-- WITH.
WITH big AS (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer), named (who, total) AS (SELECT c.name, b.total FROM big b JOIN customers c ON c.id = b.customer) SELECT * FROM named ORDER BY who;
WITH o AS (SELECT * FROM orders WHERE day = 'mon') SELECT a.id, b.id FROM o a JOIN o b ON a.id < b.id;
-- Sub-queries.
SELECT name FROM customers WHERE id IN (SELECT customer FROM orders) ORDER BY name;
SELECT name FROM customers WHERE id NOT IN (SELECT customer FROM orders);
SELECT name FROM customers c WHERE NOT EXISTS (SELECT * FROM orders o WHERE o.customer = c.id) ORDER BY name;
SELECT name, (SELECT count(*) FROM orders o WHERE o.customer = c.id) AS n, (SELECT max(amount) FROM orders o WHERE o.customer = c.id) AS most FROM customers c ORDER BY name;
SELECT (SELECT max(id) FROM customers) AS c, (SELECT max(id) FROM suppliers) AS s;
SELECT id FROM orders WHERE amount > (SELECT avg(amount) FROM orders) ORDER BY id;
-- Views.
CREATE VIEW spent AS SELECT c.id, c.name, sum(o.amount) AS total FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.id, c.name;
CREATE VIEW rich (who) AS SELECT name FROM spent WHERE total > 5;
SELECT * FROM spent ORDER BY id;
SELECT r.who, s.id FROM rich r JOIN suppliers s ON s.name <> r.who ORDER BY s.id;
-- Windows.
SELECT id, row_number() OVER (PARTITION BY day ORDER BY amount DESC) AS n, rank() OVER (ORDER BY day) AS r, sum(id) OVER (ORDER BY id) AS so_far, lag(id) OVER (ORDER BY id) AS before FROM orders ORDER BY id;
SELECT day, id FROM (SELECT day, id, row_number() OVER (PARTITION BY day ORDER BY amount DESC) AS n FROM orders) o WHERE n = 1 ORDER BY day;
-- They change rows.
DELETE FROM customers WHERE id IN (SELECT id FROM suppliers) AND id IN (SELECT customer FROM orders);
UPDATE customers SET region = 'none' WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = customers.id);
UPDATE customers SET region = (SELECT max(s.region) FROM suppliers s WHERE s.name = customers.name), name = concat(name, (SELECT count(*) FROM orders)) WHERE id = 1 OR id IS NULL;
INSERT INTO customers SELECT s.id, s.name, o.day FROM suppliers s LEFT JOIN orders o ON s.id = o.customer;
MERGE INTO customers t USING (SELECT customer AS id, count(*) AS n FROM orders GROUP BY customer UNION SELECT 77, 0) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET region = concat('n', s.n) WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'new', NULL);
SELECT * FROM customers ORDER BY id, name, region;
