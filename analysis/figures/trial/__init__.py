"""Figures of trials: performance with Monte Carlo errors, zip plots, nested loop plots."""
