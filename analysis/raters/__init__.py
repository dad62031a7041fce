"""Ratings and labels by people and models: agreement, biases, rater models, replacement tests."""
