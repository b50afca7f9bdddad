-- A query of one day reads one partition.
CREATE TABLE visits (id INT) PARTITIONED BY (day DATE) STORED AS ORC TBLPROPERTIES ('transactional'='true');
ALTER TABLE visits ADD PARTITION (day='2024-01-01') PARTITION (day='2024-01-02');
SELECT id FROM visits WHERE day = '2024-01-02';
