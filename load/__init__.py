"""The room for measurements under load: scenarios, seeding, probes and the statistics that judge them (still empty)."""
