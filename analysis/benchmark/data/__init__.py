"""Judgments as units that are scored against gold labels, and pairs of them that are compared."""
