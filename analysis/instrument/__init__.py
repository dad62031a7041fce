"""Judges as measuring instruments: what prompts, orders, samples and dates do to their answers."""

from .order import order_effects

__all__ = ["order_effects"]
