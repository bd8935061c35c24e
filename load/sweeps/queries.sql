-- name: lock
-- A request that waits, held as long as the transaction lasts.
SELECT id FROM {table} WHERE id = CAST(:id AS uuid) FOR NO KEY UPDATE

-- name: waiters
-- Who waits for a lock in this database.
SELECT count(*) AS waiters FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
