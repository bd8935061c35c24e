-- What seeding asks of any PostgreSQL. A block begins with "-- name: NAME"; values are bound as :value, and what stands
-- in {braces} is the profile's SQL or a column that the profile names.

-- name: now
SELECT timezone('utc', clock_timestamp()) AS now

-- name: hold
-- Held for as long as the session lives: who is killed holds nothing.
SELECT pg_try_advisory_lock(:space, :number) AS held

-- name: release
SELECT pg_advisory_unlock(:space, :number)

-- name: trust
-- That each row's user and each model's request are there need not be asked for each: both are written here. Only who
-- may everything may leave it out, and not where a trigger of the target's would be left out with it.
SELECT set_config('session_replication_role', 'replica', true)
FROM pg_roles r
WHERE r.rolname = current_user AND r.rolsuper
  AND NOT EXISTS (SELECT FROM pg_trigger t
                  WHERE NOT t.tgisinternal AND t.tgrelid IN (CAST(:table AS regclass), CAST(:models_table AS regclass)))

-- name: version
SELECT current_setting('server_version_num')::integer AS version

-- name: stored
-- Nothing is read out of line for it. Since 17 a value says itself where it stands.
SELECT count({column}) AS rows, coalesce(sum(pg_column_size({column})), 0) AS bytes,
       count(*) FILTER (WHERE pg_column_toast_chunk_id({column}) IS NOT NULL) AS out_of_line
FROM ({rows}) AS seeded

-- name: stored_before_17
-- Before 17 it does not. A row above :target bytes has its largest values moved out, so what is larger stands there;
-- that smaller ones may stand there too is not seen.
SELECT count({column}) AS rows, coalesce(sum(pg_column_size({column})), 0) AS bytes,
       count(*) FILTER (WHERE pg_column_size({column}) > :target) AS out_of_line
FROM ({rows}) AS seeded

-- name: data_directory
-- Not shown to everybody: then it is null.
SELECT (SELECT setting FROM pg_settings WHERE name = 'data_directory') AS directory
