"""Effects among people from few people and many answers of models."""

from .estimate import PredictionPowered

__all__ = ["PredictionPowered"]
