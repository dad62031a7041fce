"""Exhibits of checks and of how robust estimates are to how they are computed."""
