"""Designs: which profiles meet, who rates what, and the texts of stimuli."""
