"""
Which intervals miss the true value, and by how much?
=====================================================

Every line is the interval of one simulated study, sorted by its distance from the true value. If more than
5% at the top are coloured, intervals are too short.
"""

from conjury.analysis.trial import load_trial, run_trial

figure = run_trial(load_trial("small"), draws=60, methods=["rows", "cr2"]).plot(part="zip")
