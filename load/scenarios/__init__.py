"""What is done to a target under load: Locust user classes, one file each, and what they share.

A file that imports Locust is loaded by a Locust process of its own (`locust -f load/scenarios/pop_scan.py`,
or by `load.running`); importing it patches sockets and threads of the whole process. `table` and `plan` import nothing
of it.
"""
