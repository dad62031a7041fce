"""Published classification scores: whether one confusion matrix, or runs or folds, can have them."""

from .formulas import SCORES, exact_score
from .matrices import confusion_matrices

__all__ = ["SCORES", "confusion_matrices", "exact_score"]
