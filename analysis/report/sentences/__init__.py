"""Sentences of reports that state conditions: records of values, their counts, and their words."""
