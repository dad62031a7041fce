"""Designs that are planned: the card of a design, prices, power."""
