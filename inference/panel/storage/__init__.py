"""The database of a panel: its schema, opening it, what is written and what is read."""
