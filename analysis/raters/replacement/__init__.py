"""May a model replace a person of the panel? The alternative annotator test and its power."""

from .alternative import alt_test
from .outcome import AltTest

__all__ = ["AltTest", "alt_test"]
