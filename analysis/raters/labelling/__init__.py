"""Which rows people label next, with known probabilities, and when they may stop."""

from .label_opening import label
from .label_queue import LabelQueue

__all__ = ["LabelQueue", "label"]
