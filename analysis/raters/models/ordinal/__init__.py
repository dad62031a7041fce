"""The ordinal rater model."""
