-- What suites ask of any PostgreSQL, each query by its name.

-- name: waiting_behind
-- How many sessions wait for a lock that the backend :pid holds, or behind one that does.
WITH RECURSIVE behind (pid) AS (
    SELECT CAST(:pid AS integer)
    UNION
    SELECT a.pid FROM behind b JOIN pg_stat_activity a ON b.pid = ANY (pg_blocking_pids(a.pid))
)
SELECT count(*) - 1 AS waiting FROM behind
