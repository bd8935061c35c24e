"""The page of a report: one self-contained file of HTML."""
