"""
Do intervals from five or ten raters contain the true effect?
=============================================================

The points are the shares of 30 simulated studies in which a 95% interval contains the true effect. Intervals
that treat rows as independent contain it far too rarely if raters differ.
"""

from conjury.analysis.trial import load_trial, run_trial

figure = run_trial(load_trial("small"), draws=30, methods=["rows", "cr1"]).plot()
