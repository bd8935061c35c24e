"""Evidence of a failure: its exchanges as HAR, the database's side of it, and a script that shows it again."""
