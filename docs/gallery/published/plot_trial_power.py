"""
What does correct coverage cost in power?
=========================================

Methods that cover as stated have wider intervals and therefore less power. A method that finds every effect
may simply find too many.
"""

from conjury.analysis.trial import load_trial, run_trial

result = run_trial(load_trial("small"), draws=60, methods=["rows", "cr1", "cr2"])
figure = result.plot(part="power")
