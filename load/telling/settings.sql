-- What decides what a time means: pg_settings is a view of the server's memory, no table is read.
SELECT name, setting, unit
FROM pg_settings
WHERE name IN (
    'fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'shared_buffers', 'jit', 'max_connections',
    'server_version'
)
ORDER BY name
