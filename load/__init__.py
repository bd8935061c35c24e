"""The room for measurements under load: queues that are seeded, loads that are made, counts, and what they say.

Importing it imports no Locust: that runs in processes of its own (`load.running`), on the files of `load.scenarios`.
"""
