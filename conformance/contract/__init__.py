"""The contract that a target publishes, and what is drawn from it.

`documents` finds it or makes ours of the profile, `operations` finds the profile's routes in it, `drawing` draws calls
from it (Schemathesis), `judging` holds answers to it, and `story` tells the calls to a target through the recorder.
"""
