"""Checks of people: attention, effort, and answers that nobody thought about."""
