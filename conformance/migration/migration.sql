-- What the migration's suite reads of the system catalogues, each query by its name.

-- name: columns
-- One row a column of each ordinary table. `volatility` is that of the default's expression: of the functions that it
-- calls, and of the two things that look like none, CURRENT_TIMESTAMP and its kin (stable) and identity (volatile).
SELECT c.oid::regclass::text                       AS "table",
       a.attname                                   AS name,
       format_type(a.atttypid, a.atttypmod)        AS type,
       b.typname                                   AS kind,
       b.typcategory                               AS category,
       a.atttypmod                                 AS modifier,
       a.attnotnull                                AS not_null,
       a.attidentity <> ''                         AS identity,
       a.attgenerated <> ''                        AS generated,
       pg_get_expr(d.adbin, d.adrelid)             AS "default",
       CASE WHEN d.adbin IS NULL AND a.attidentity = '' THEN NULL
            WHEN f.volatile OR a.attidentity <> '' OR d.adbin::text LIKE '%{NEXTVALUEEXPR%' THEN 'volatile'
            WHEN f.stable OR d.adbin::text LIKE '%{SQLVALUEFUNCTION%' THEN 'stable'
            ELSE 'immutable' END                   AS volatility,
       ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = b.oid ORDER BY e.enumsortorder) AS labels
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^(pg_|information_schema$)'
JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN LATERAL (
    SELECT bool_or(p.provolatile = 'v') AS volatile, bool_or(p.provolatile = 's') AS stable
    FROM regexp_matches(d.adbin::text, ':(?:funcid|opfuncid) (\d+)', 'g') AS called (ids)
    JOIN pg_proc p ON p.oid = called.ids[1]::oid
) f ON true
WHERE a.attnum > 0 AND NOT a.attisdropped
ORDER BY 1, a.attnum;

-- name: tables
-- One row a table that has storage of its own, with the file that it lies in: another file means that it was rewritten.
SELECT c.oid::regclass::text AS name, pg_relation_filenode(c.oid)::bigint AS file
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^(pg_|information_schema$)'
WHERE c.relkind = 'r'
ORDER BY 1;

-- name: indexes
SELECT i.indexrelid::regclass::text                AS name,
       i.indrelid::regclass::text                  AS "table",
       ARRAY(SELECT pg_get_indexdef(i.indexrelid, k, true) FROM generate_series(1, i.indnkeyatts) k ORDER BY k)
                                                   AS columns,
       i.indisunique                               AS "unique",
       i.indisvalid                                AS valid,
       i.indisready                                AS ready,
       pg_get_expr(i.indpred, i.indrelid)          AS predicate
FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid AND c.relkind IN ('r', 'p')
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^(pg_|information_schema$)'
ORDER BY 1;

-- name: foreign_keys
SELECT k.conrelid::regclass::text  AS "table",
       k.confrelid::regclass::text AS parent,
       ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u (num, place)
             JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num ORDER BY u.place)  AS columns,
       ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u (num, place)
             JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.num ORDER BY u.place) AS parent_columns
FROM pg_constraint k
WHERE k.contype = 'f' AND k.conparentid = 0
ORDER BY 1, k.conname;

-- name: constraints
SELECT k.conrelid::regclass::text AS "table", k.conname::text AS name, pg_get_constraintdef(k.oid) AS definition,
       k.convalidated AS valid
FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^(pg_|information_schema$)'
WHERE k.contype <> 'n'
ORDER BY 1, 2;

-- name: shutting_locks
-- The tables on which the asking transaction holds a lock that shuts out those who write rows.
SELECT DISTINCT c.oid::regclass::text AS name
FROM pg_locks l
JOIN pg_class c ON c.oid = l.relation AND c.relkind IN ('r', 'p')
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^(pg_|information_schema$)'
WHERE l.pid = pg_backend_pid() AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
ORDER BY 1;

-- name: blocks_touched
-- The blocks of tables, their out-of-line storage and indexes that the asking process has read or written and not yet
-- published, which it does between transactions; nobody else's work is in the figure.
SELECT coalesce(sum(pg_stat_get_xact_blocks_fetched(c.oid)), 0)::bigint AS blocks
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^(pg_catalog|information_schema)$';

-- name: waits
-- Whether a process waits for a lock.
SELECT EXISTS (SELECT FROM pg_locks l WHERE l.pid = %(pid)s AND NOT l.granted) AS waits;
