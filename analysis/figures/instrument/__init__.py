"""Figures of judges as instruments."""
