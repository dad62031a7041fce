"""Answers of several columns on one scale with one set of labels: what is missing, merged, refused."""
