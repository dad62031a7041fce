"""Bayesian models of ratings and labels."""

from .dimensions.dimension_model import dimension_model
from .labels.label_model import label_model
from .model_fit import ModelFit
from .ordinal.rater_model import RaterFit, rater_model

__all__ = [
    "ModelFit",
    "RaterFit",
    "dimension_model",
    "label_model",
    "rater_model",
]
