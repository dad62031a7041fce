"""Transcripts of runs on a page: what judges saw, what they answered, how it was read; and blind labels."""

MOST = 1_000  # transcripts of a file, unless more are asked for
LIMIT = 10_000  # transcripts of a file that a browser still opens
