"""Simulated conjoints."""
