"""Probes: what a pop costs in counts that are the same every time, and what a database does meanwhile."""
