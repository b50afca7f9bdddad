MERGE INTO t USING s ON t.id = s.id
WHEN MATCHED AND s.d THEN DELETE
WHEN MATCHED THEN UPDATE SET v = s.v, n = CASE WHEN s.n > 1 THEN 1 END
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v, DEFAULT);
MERGE INTO db.t AS x USING (SELECT id, v FROM s WHERE id IN (1, 2)) y ON x.id = y.id AND x.ds = 'a'
WHEN NOT MATCHED AND y.k > 0 THEN INSERT (id, v) VALUES (y.id, y.v)
WHEN NOT MATCHED BY SOURCE AND x.old THEN DELETE
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = NULL;
MERGE INTO t USING s AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY TARGET THEN INSERT *;
MERGE INTO t AS x USING (SELECT * FROM s) AS y ON x.id = y.id
WHEN MATCHED AND y.op = 'D' AND (y.n > 1 OR y.n IS NULL) THEN DELETE
WHEN MATCHED AND y.op = 'U' THEN UPDATE SET v = DEFAULT, `order` = y.`order`
WHEN MATCHED AND y.op = 'A' THEN UPDATE SET *
WHEN NOT MATCHED AND y.op <> 'D' THEN INSERT (id, v, `order`) VALUES (y.id, DEFAULT, (SELECT 1))
WHEN NOT MATCHED THEN INSERT *
WHEN NOT MATCHED BY SOURCE THEN DELETE;
merge into t using db.s s on t.id = s.id when not matched then insert values (s.id) when matched then delete;
DRY RUN MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE;
MERGE INTO t USING (VALUES (1, 'x'), (2, 'y')) AS v(a, `b c`) ON t.id = v.a WHEN MATCHED THEN UPDATE SET v = v.`b c`;
merge into t using (select 1, 2) v (a, b) on t.id = v.a when not matched then insert values (v.a, v.b);
MERGE INTO t USING 'new.csv' AS s ON t.id = s.id WHEN MATCHED THEN DELETE;
MERGE INTO t USING 'new.csv' ON t.id = new.id WHEN NOT MATCHED THEN INSERT *;
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a RETURNING t.id;
