"""Exhibits of conjoints."""
