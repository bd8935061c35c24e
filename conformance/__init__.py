"""What we do to a server: the catalogue, the profiles, the actors, the suites and the verdicts."""
