"""Estimates, agreement, scores, checks, figures and reports from tables of `conjury.inference`."""
