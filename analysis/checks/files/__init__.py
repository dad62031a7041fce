"""Checks of files: lengths, copies, and text that should not be in them."""
