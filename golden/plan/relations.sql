-- Joins, set operations, WITH and sub-queries, by whichever engine, and by the driver alone.
CREATE TABLE customers (id INT, name STRING, region STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE suppliers (id INT, name STRING, region STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE orders (id INT, customer INT, amount DECIMAL(8,2)) PARTITIONED BY (day STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE VIEW spent AS SELECT c.id, c.name, sum(o.amount) AS total FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.id, c.name;
EXPLAIN SELECT c.name, (SELECT max(id) FROM suppliers) AS m FROM customers c LEFT JOIN orders o ON o.customer = c.id WHERE o.day = 'mon' AND c.region IN (SELECT region FROM suppliers) UNION SELECT name, id FROM spent;
WITH w AS (SELECT id FROM orders) SELECT a.id FROM w a CROSS JOIN w b;
DELETE FROM customers WHERE id IN (SELECT id FROM suppliers);
SET acidsql.engine=local;
EXPLAIN SELECT c.name, (SELECT max(id) FROM suppliers) AS m FROM customers c LEFT JOIN orders o ON o.customer = c.id WHERE o.day = 'mon' AND c.region IN (SELECT region FROM suppliers) UNION SELECT name, id FROM spent;
WITH w AS (SELECT id FROM orders) SELECT a.id FROM w a CROSS JOIN w b;
DELETE FROM customers WHERE id IN (SELECT id FROM suppliers);
MERGE INTO customers t USING (SELECT id FROM suppliers EXCEPT SELECT customer FROM orders) s ON t.id = s.id WHEN MATCHED THEN DELETE;
