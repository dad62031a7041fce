"""Checks of the design: what was shown to whom, and with which probabilities."""
