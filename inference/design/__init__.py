"""Designs of studies: which profiles meet in which tasks, how they look, and which items people rate."""

from .profiles import attribute_cells, enumerate_profiles, level_probabilities

__all__ = ["attribute_cells", "enumerate_profiles", "level_probabilities"]
