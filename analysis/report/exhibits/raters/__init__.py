"""Exhibits of ratings and raters."""
