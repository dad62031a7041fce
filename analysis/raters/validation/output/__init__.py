"""A validation for people (terminal, page) and programs (JSON)."""
