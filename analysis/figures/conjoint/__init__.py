"""Figures of conjoint results."""
