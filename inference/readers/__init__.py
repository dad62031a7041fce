"""Readers of users' tables: choices, judgments, labels, items."""
