"""Effects among people from few people and many answers of models."""

from ...correction.sources import PPI
from .estimate import PredictionPowered
from .tasks import Correct, ModelSources

__all__ = ["PPI", "Correct", "ModelSources", "PredictionPowered"]
