"""Checks of positions and of the order of tasks."""
