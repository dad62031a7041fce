"""
Do intervals by five or ten raters cover?
=========================================

Of 60 simulated studies, the points are the shares in which a 95% interval contains the true effect. Intervals
that take rows as independent cover far too rarely where raters differ.
"""

from conjury.analysis.trial import load_trial, run_trial

figure = run_trial(load_trial("small"), draws=60, methods=["rows", "cr1", "cr2"]).plot()
