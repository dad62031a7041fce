"""Figures of diagnostic checks."""
