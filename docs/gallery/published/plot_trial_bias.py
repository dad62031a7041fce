"""
Are the estimates right on average?
===================================

The bias of an effect is the mean of its estimates minus the true value. Standard errors differ between the
methods of this trial and estimates do not, so that all are unbiased alike.
"""

from conjury.analysis.trial import load_trial, run_trial

figure = run_trial(load_trial("small"), draws=60, methods=["rows", "cr2"]).plot(part="bias")
