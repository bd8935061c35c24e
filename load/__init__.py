"""The room for measurements under load: queues that are seeded, loads that are made, counts, and what may be said of it.

Importing it imports no Locust: that runs in processes of its own (`load.running`), whose files stand in `load.scenarios`.
"""
