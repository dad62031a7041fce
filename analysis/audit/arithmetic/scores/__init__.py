"""Published classification scores: whether one confusion matrix, or runs or folds, can have them."""

from .score_arithmetic import confusion_matrices
from .score_formulas import SCORES, exact_score

__all__ = ["SCORES", "confusion_matrices", "exact_score"]
