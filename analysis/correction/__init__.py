"""Corrections of what models answer by what people answer, bounds for what nobody answered, and plans."""

from .bounds import covering_interval, tipping_share
from .misclassification import calibration_split, rates
from .plan import label_plan

__all__ = ["calibration_split", "covering_interval", "label_plan", "rates", "tipping_share"]
