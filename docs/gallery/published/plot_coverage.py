"""
Do intervals by five or ten raters cover?
=========================================

The points are the shares of 30 simulated studies in which a 95% interval contains the true effect. Intervals
that take rows as independent cover far too rarely where raters differ.
"""

from conjury.analysis.trial import load_trial, run_trial

figure = run_trial(load_trial("small"), draws=30, methods=["rows", "cr1"]).plot()
