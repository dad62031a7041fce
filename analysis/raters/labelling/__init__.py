"""Which rows people label next, with known probabilities, and when they may stop."""

from .label_queue import LabelQueue, label

__all__ = ["LabelQueue", "label"]
