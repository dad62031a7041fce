"""Effects among people from few people and many answers of models."""

from .prediction_powered_effects import PredictionPowered

__all__ = ["PredictionPowered"]
