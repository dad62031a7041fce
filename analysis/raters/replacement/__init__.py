"""Whether a model may replace a person of the panel: the alternative annotator test and its power."""

from .alt_test import AltTest, alt_test
from .decide import epsilon_curve
from .replacement_power import alt_test_power

__all__ = ["AltTest", "alt_test", "alt_test_power", "epsilon_curve"]
