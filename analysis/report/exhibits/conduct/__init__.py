"""Exhibits of how a study was conducted: its registration, and people from recruited to analysed."""
