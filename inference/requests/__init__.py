"""Requests to models: what is shown, in which words, with which pictures."""
