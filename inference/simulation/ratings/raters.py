"""A panel of people and models as simulated raters: their parameters, and what follows for their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rater:
    """A panel of people or a model, on D dimensions with K thresholds, T types and M modalities of items.

    Attributes
    ----------
    judge, kind : str
    mean : ndarray, shape (D, T)
        Mean of the latent value by type, on the logit scale.
    shift : ndarray, shape (D, M)
        What a modality adds to it.
    item_sd : ndarray, shape (D, T)
        Standard deviation of the latent value within a type; of models it is the same for all types.
    threshold : ndarray, shape (D, K)
        Rising.
    correlation : ndarray, shape (D, D)
        Between dimensions within a type: of the consensus, and for a model of what it does not share with it.
    topic_share : float
        Share of the variance within a type that all items of a topic have in common.
    severity_sd : ndarray, shape (D,)
        Between people.
    severity_correlation : float
        Between a person's severities on two dimensions.
    discrimination_sd : float
        Of the logarithm of people's discrimination, whose mean is 0.
    halo_sd : float
        Of what all dimensions of one person's rating of an item share.
    consensus_correlation : ndarray, shape (D,)
        Of a model's latent values with the consensus within a type of average spread; 1 for people.
    model_shared : ndarray, shape (D,)
        Share of the variance of a model's errors that all models have in common; 0 for people. Errors of
        two models correlate by the geometric mean of their shares.
    """

    judge: str
    kind: str
    mean: Floats
    shift: Floats
    item_sd: Floats
    threshold: Floats
    correlation: Floats
    topic_share: float
    severity_sd: Floats
    severity_correlation: float
    discrimination_sd: float
    halo_sd: float
    consensus_correlation: Floats
    model_shared: Floats

    @property
    def spread(self) -> Floats:
        """Root mean square of the standard deviations within types, shape (D,)."""
        return np.asarray(np.sqrt(np.mean(self.item_sd**2, axis=1)))

    @property
    def own_sd(self) -> Floats:
        """Standard deviation of what a model does not share with the consensus, shape (D,)."""
        return np.asarray(self.spread * np.sqrt(1 - self.consensus_correlation**2))

    def slope(self, consensus: Rater) -> Floats:
        """What a model's latent value gains where the consensus gains one, shape (D,)."""
        return np.asarray(self.consensus_correlation * self.spread / consensus.spread)

    def alone(self, common: Floats) -> Floats:
        """Covariance over dimensions of the part of a model's standardised errors that is its alone, (D, D).

        ``common``, shape (D, D), is the correlation between dimensions of what models have in common.
        """
        root = np.sqrt(self.model_shared)
        return np.asarray(self.correlation - root[:, None] * common * root)


@dataclass(frozen=True)
class RatingTruth:
    """A panel, models, and the sizes of a full simulation.

    Attributes
    ----------
    panel : Rater
    models : tuple of Rater
    dimensions, types : tuple of str
        Ids of scales, and of the levels of the column that tells the items of a topic apart.
    topics : mapping of modality to number of topics
    people : int
    """

    panel: Rater
    models: tuple[Rater, ...]
    dimensions: tuple[str, ...]
    types: tuple[str, ...]
    topics: Mapping[str, int]
    people: int

    @property
    def judges(self) -> list[str]:
        """The panel and all models."""
        return [self.panel.judge, *(model.judge for model in self.models)]

    @property
    def modalities(self) -> list[str]:
        """Modalities of items."""
        return list(self.topics)

    @property
    def common(self) -> Floats:
        """Correlation between dimensions of what models' errors have in common: their mean, shape (D, D)."""
        return np.asarray(np.mean([rater.correlation for rater in self.models or (self.panel,)], axis=0))
