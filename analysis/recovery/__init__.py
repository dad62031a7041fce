"""Estimates compared with known truth."""
