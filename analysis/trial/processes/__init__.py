"""Processes that ship with the project: what they draw, and how their true values are known."""
