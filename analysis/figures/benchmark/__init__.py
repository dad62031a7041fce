"""Figures of benchmarks."""
