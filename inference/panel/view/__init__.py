"""Transcripts of runs on a page: what judges saw, what they answered, how it was read; and blind labels."""
