"""Stories of several requesters and workers: made up by Hypothesis, judged by a model, cut to the fewest calls."""
