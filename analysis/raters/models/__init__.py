"""Bayesian models of ratings and labels."""

from .dimensions.model import dimension_model
from .fitted import ModelFit
from .labels.model import label_model
from .ordinal.model import RaterFit, rater_model

__all__ = [
    "ModelFit",
    "RaterFit",
    "dimension_model",
    "label_model",
    "rater_model",
]
