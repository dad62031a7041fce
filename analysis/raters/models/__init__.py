"""Bayesian models of ratings and labels."""

from .dimensions.dimension_model import dimension_model
from .labels.label_model import label_model
from .model_fit import ModelFit
from .ordinal.leave_one_out import compare_rater_models
from .ordinal.rater_model import RaterFit, rater_model

__all__ = [
    "ModelFit",
    "RaterFit",
    "compare_rater_models",
    "dimension_model",
    "label_model",
    "rater_model",
]
