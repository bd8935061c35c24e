-- What the probes ask of any PostgreSQL. A block begins with "-- name: NAME"; values are bound as %(value)s.

-- name: statements
-- Of one database, by whoever ran them; without our own. Calls and blocks are told at once, not once a second.
SELECT s.userid, s.queryid, s.toplevel, s.query, s.calls, s.rows, s.shared_blks_hit + s.shared_blks_read AS blocks,
       s.query = '<insufficient privilege>' AS hidden
FROM pg_stat_statements s
JOIN pg_database d ON d.oid = s.dbid
WHERE d.datname = %(database)s AND position('horde-conformance probe' IN s.query) = 0

-- name: statements_info
-- Whether statements were forgotten, for there were too many, or all of them, for somebody asked for it.
SELECT dealloc, stats_reset::text AS reset FROM pg_stat_statements_info

-- name: tables
-- Of each table with values out of line: blocks of them that were touched (their index's too), how often its index was
-- looked into (once for each value read or replaced), how many pieces were written, and how often somebody tidied up.
SELECT c.oid::regclass::text AS name, o.toast_blks_read + o.toast_blks_hit AS blocks,
       o.tidx_blks_read + o.tidx_blks_hit AS index_blocks, t.idx_scan AS reads, t.n_tup_ins AS written,
       m.n_tup_upd AS updates, coalesce(m.seq_scan, 0) AS sequential,
       m.vacuum_count + m.autovacuum_count + m.analyze_count + m.autoanalyze_count
           + t.vacuum_count + t.autovacuum_count AS tidied
FROM pg_statio_user_tables o
JOIN pg_class c ON c.oid = o.relid
JOIN pg_stat_all_tables t ON t.relid = c.reltoastrelid
JOIN pg_stat_all_tables m ON m.relid = o.relid
ORDER BY 1

-- name: fresh
-- What this session read before is not what it reads next.
SELECT pg_stat_clear_snapshot()

-- name: backends
SELECT pid FROM pg_stat_activity WHERE datname = %(database)s AND pid <> pg_backend_pid() ORDER BY pid

-- name: version
SELECT current_setting('server_version_num')::integer AS version

-- name: superuser
SELECT rolsuper AS superuser FROM pg_roles WHERE rolname = current_user

-- name: activity
-- Who does what: `state` is null where this role may not see it.
SELECT state, wait_event_type AS kind, wait_event AS event, count(*) AS sessions
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
GROUP BY 1, 2, 3

-- name: locks
-- By the sessions of this database: a lock on a transaction, for which most wait, belongs to no database.
SELECT l.mode, l.granted, count(*) AS locks
FROM pg_locks l
JOIN pg_stat_activity a ON a.pid = l.pid
WHERE a.datname = current_database() AND l.pid <> pg_backend_pid()
GROUP BY 1, 2

-- name: blocked
-- Whoever waits for a lock, for how long, and for whom.
SELECT pid, pg_blocking_pids(pid) AS by, extract(epoch FROM clock_timestamp() - query_start)::float AS seconds
FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'

-- name: deadlocks
SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()
