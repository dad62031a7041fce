"""Bayesian models of raters, and the choices and labels that they are fitted to."""

from ...conjoint.bayes.choice_model import ChoiceFit, choice_model
from .dimensions.model import dimension_model
from .fitted import ModelFit
from .labels.model import label_model
from .ordinal.model import RaterFit, rater_model

__all__ = [
    "ChoiceFit",
    "ModelFit",
    "RaterFit",
    "choice_model",
    "dimension_model",
    "label_model",
    "rater_model",
]
