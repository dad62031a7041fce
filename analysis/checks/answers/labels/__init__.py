"""Checks of labels and ratings: their scheme, their frequencies, and what they are worth."""
