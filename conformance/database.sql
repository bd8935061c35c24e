-- What suites ask of any PostgreSQL, each query by its name.

-- name: waiting_behind
-- How many sessions wait for a lock that the backend :pid holds, or behind one that does.
WITH RECURSIVE behind (pid) AS (
    SELECT CAST(:pid AS integer)
    UNION
    SELECT a.pid FROM behind b JOIN pg_stat_activity a ON b.pid = ANY (pg_blocking_pids(a.pid))
)
SELECT count(*) - 1 AS waiting FROM behind

-- name: figures_of
-- The server's statistics of the table :name and of its out-of-line storage: what is pending in its backends is missing.
SELECT o.toast_blks_read + o.toast_blks_hit + o.tidx_blks_read + o.tidx_blks_hit AS out_of_line, t.n_tup_upd AS updates,
       greatest(CAST(to_jsonb(t) ->> 'last_seq_scan' AS timestamptz),
                CAST(to_jsonb(t) ->> 'last_idx_scan' AS timestamptz)) AS scanned,
       clock_timestamp() AS now
FROM pg_statio_user_tables o
JOIN pg_stat_user_tables t ON t.relid = o.relid
WHERE o.relid = to_regclass(:name) AND o.toast_blks_read IS NOT NULL

-- name: report_figures
-- What this session has to say to the statistics it says at the end of its transaction.
SELECT pg_stat_force_next_flush()
