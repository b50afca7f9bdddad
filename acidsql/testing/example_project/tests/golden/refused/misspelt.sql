-- A misspelt name changes nothing, and the error says which name was meant.
CREATE TABLE bills (id INT, amount DECIMAL(10,2)) STORED AS ORC TBLPROPERTIES ('transactional'='true');
UPDATE bills SET ammount = 0;
DELETE FROM bill WHERE id = 1;
