"""Bayesian choice models."""
