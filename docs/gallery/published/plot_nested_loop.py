"""
How does coverage change with the number of raters?
===================================================

All cells of a trial are shown in the order of their parameters. Coverage of the naive intervals is far below
the stated level with five and with ten raters.
"""

from conjury.analysis.trial import load_trial, run_trial

figure = run_trial(load_trial("small"), draws=30, methods=["rows", "cr1"]).plot(part="nested_loop")
