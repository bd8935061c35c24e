"""What a run found: its model, its file, and what is rendered from it."""
