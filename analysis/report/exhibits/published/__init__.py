"""Exhibits of published numbers: compared with ours, and checked against each other."""
