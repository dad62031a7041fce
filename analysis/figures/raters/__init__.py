"""Figures of ratings and raters."""
