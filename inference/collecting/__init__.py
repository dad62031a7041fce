"""Collecting judgments: plans, costs, runs and their tables."""
