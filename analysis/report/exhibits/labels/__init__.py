"""Exhibits of labels compared with gold labels."""
