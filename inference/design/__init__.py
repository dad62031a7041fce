"""Designs: which profiles meet, who rates what, and the texts of stimuli."""

from .profiles import assign_tasks, attribute_cells, enumerate_profiles, level_probabilities, sample_pairs

__all__ = ["assign_tasks", "attribute_cells", "enumerate_profiles", "level_probabilities", "sample_pairs"]
