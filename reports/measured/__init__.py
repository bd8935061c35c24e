"""The report of a load session: its model, its page with drawings, its rows, and what the terminal shows of it.

Nothing is imported here: `write` brings matplotlib, which costs half a second that a terminal's bar needs not wait for.
"""
