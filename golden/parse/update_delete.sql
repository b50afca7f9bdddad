UPDATE t SET v = 'x';
UPDATE db.t AS u SET a = u.a + 1, b = CASE WHEN c = 1 THEN 'where, when' ELSE (SELECT max(x) FROM s WHERE s.id = u.id) END, d = DEFAULT
WHERE u.id IN (1, 2) AND d IS NOT DISTINCT FROM 'x' AND ROW__ID.writeid >= 2;
update t x set compact = locks, arr = array(1, 2)[0], m = map('a', 1), s = named_struct('x', 1, 'y', 2) where `where` is null;
UPDATE p SET v = DEFAULT, n = DEFAULT WHERE ds = '2024-01-01' AND hr IN (1, 2) AND limit > 3;
DELETE FROM t;
DELETE FROM db.t AS d WHERE EXISTS (SELECT 1 FROM s WHERE s.id = d.id);
DELETE FROM p WHERE ds >= '2024-01-01' AND ds < DATE '2024-02-01';
DELETE FROM p d WHERE d.ds = 'x' OR (d.ds IN (SELECT ds FROM s) AND NOT d.`delete`);
delete from t compact where compact.id = 1 -- trailing
;
DRY RUN DELETE FROM t WHERE id = 1;
dry run update t set v = 1;
UPDATE t SET a = 1 WHERE b = 2 RETURNING a, b AS c;
DELETE FROM t x RETURNING x.*, ROW__ID;
-- the type of a cast ends in a mark of its own
UPDATE t SET a = v::map<string,int> RETURNING a;
UPDATE t SET a = v > RETURNING;
