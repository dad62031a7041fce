"""
Which intervals miss the true value, and by how much?
=====================================================

Every line is the interval of one simulated study, sorted by its distance from the true value. Far more than
5% of the intervals by rows exclude it; fewer of those by raters do.
"""

from conjury.analysis.trial import load_trial, run_trial

figure = run_trial(load_trial("small"), draws=30, methods=["rows", "cr1"]).plot(part="zip")
