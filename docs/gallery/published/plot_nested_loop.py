"""
How does coverage change with the design of a study?
====================================================

All cells of a trial are shown in the order of their parameters. Coverage of the naive intervals is lowest with
five raters, and CR2 stays near the stated level.
"""

from conjury.analysis.trial import load_trial, run_trial

result = run_trial(load_trial("small"), draws=60, methods=["rows", "cr1", "cr2"])
figure = result.plot(part="nested_loop")
