"""Items and raters of simulated ratings, and the random parts of what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...errors import Problems, did_you_mean, listed
from ...study.models import ItemStudy
from ...tables.columns import as_text, refuse_each, stream
from ...tables.files import read_table
from ...tables.schema import require_columns
from ..truth_table import Floats, Integers

PEOPLE = "human"  # generator of what people wrote


def read_items(study: ItemStudy) -> pd.DataFrame:
    """Read the items of a study, and check them against its file.

    Parameters
    ----------
    study : ItemStudy
        A study of items.

    Returns
    -------
    DataFrame
        One row per item, with ``item_id`` and the columns that the study names.

    Raises
    ------
    InputError
        Where the table lies outside the folder of the study, or has a value that the study file does not
        have; names the row.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> len(read_items(load_any_study("harm_or_humor")))
    31
    """
    path, problems = study.file(study.items), Problems()
    with problems.also():
        items = read_table(path, "items")
    if problems.sentences:
        items = read_table(path)
    require_columns(items, _joined_columns(study), str(path))
    for name in items.select_dtypes("category"):
        if name not in study.level_labels:
            items[name] = as_text(items[name])
    for name in study.level_labels:
        with problems.also():
            items[name] = _categorical(items[name], study.levels(name), str(path))
    if study.generator is not None:
        models = [judge.id for judge in study.judges if judge.kind == "model"]
        with problems.also():
            _categorical(items[study.generator], [PEOPLE, *models], str(path))
    problems.refuse()
    return items


def item_columns(study: ItemStudy) -> list[str]:
    """Columns that items of a study must have: their id, what is shown of them, and what results are by."""
    return list(dict.fromkeys(["item_id", *(study.collect.fields or ()), *_joined_columns(study)]))


def _joined_columns(study: ItemStudy) -> list[str]:
    """Strata, and the columns of the cluster, of who wrote the items and of what a person meets once."""
    named = [study.cluster, study.generator, study.assignment and study.assignment.within]
    return [*study.level_labels, *(name for name in named if name)]


def make_up_items(study: ItemStudy, topics: Mapping[str, int], seed: int) -> pd.DataFrame:
    """Make up the items of a simulation: for every topic one item of each type.

    Texts are placeholders, and an unrelated response is the best one to another topic.

    Parameters
    ----------
    study : ItemStudy
        A study of items with an assignment.
    topics : mapping of str to int
        Number of topics in each modality.
    seed : int
        Seed of the votes.

    Returns
    -------
    DataFrame
        ``item_id, modality, topic, response, media, votes``, and the columns of topics, types and writers
        that the study names.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> items = make_up_items(load_any_study("oogiri"), {"text": 2}, seed=1)
    >>> len(items), items["topic_id"].nunique()
    (16, 2)
    """
    plan = study.assignment
    assert plan is not None
    levels = study.levels(plan.across)
    rng = stream(seed, "items")
    numbered = [(kind, number + 1) for kind, n in topics.items() for number in range(n)]
    topic = np.array([f"{kind}_{number:0{len(str(max(topics.values())))}d}" for kind, number in numbered])
    topic_labels = np.array([f"{kind.capitalize()} topic {number} (made up)" for kind, number in numbered])
    row = np.repeat(np.arange(len(topic)), len(levels))
    level = np.tile(levels, len(topic))
    best = study.tiers.levels[0] if study.tiers is not None else levels[0]
    source = np.roll(np.arange(len(topic)), -1)
    origin = np.where(level == (study.unrelated.level if study.unrelated else ""), source[row], row)
    kind_shown = np.where(origin == row, level, best)
    modalities = study.level_labels.get("modality", topics)
    votes, writers = _votes(study, len(topic), rng), _writers(study)
    return pd.DataFrame(
        {
            "item_id": pd.array([f"{topic[t]}_{kind}" for t, kind in zip(row, level, strict=True)], "string"),
            "modality": pd.Categorical([numbered[t][0] for t in row], categories=list(modalities)),
            plan.within: pd.array(topic[row], "string"),
            "topic": pd.array(topic_labels[row], "string"),
            "response": pd.array(
                [
                    f"Response {kind} to {topic[t]} (made up)"
                    for t, kind in zip(origin, kind_shown, strict=True)
                ],
                "string",
            ),
            "media": pd.array([None] * len(row), "string"),
            plan.across: pd.Categorical(level, categories=levels),
            study.generator or "generator": pd.array([writers[kind] for kind in level], "string"),
            "votes": pd.array(
                [
                    votes[kind][t] if kind in votes else None
                    for t, kind in zip(origin, kind_shown, strict=True)
                ],
                "Int64",
            ),
        }
    )


def _categorical(values: pd.Series[str], levels: list[str], source: str) -> pd.Series[str]:
    text = as_text(values)

    def problem(cell: str) -> str:
        return f"contains '{cell}'{did_you_mean(cell, levels)}" if cell else "is empty"

    bad = ~text.isin(levels).to_numpy(dtype=bool)
    refuse_each(text.fillna(""), bad, source, problem, f"use one of {listed(levels)}")
    return pd.Series(pd.Categorical(text, categories=levels), index=values.index, name=values.name)


def _writers(study: ItemStudy) -> dict[str, str]:
    """Who writes the items of each type, as the study's own items have it."""
    plan = study.assignment
    assert plan is not None
    if study.generator is None:
        return dict.fromkeys(study.levels(plan.across), PEOPLE)
    items = read_items(study)
    first = items.drop_duplicates(plan.across)
    writers = dict(zip(first[plan.across].astype(str), first[study.generator].astype(str), strict=True))
    return {level: writers.get(level, PEOPLE) for level in study.levels(plan.across)}


def _votes(study: ItemStudy, n: int, rng: np.random.Generator) -> dict[str, list[int]]:
    """Votes of each tier, falling from tier to tier; at least 100 for the best."""
    if study.tiers is None:
        return {}
    top = 100 + rng.geometric(1 / 150, n)
    votes = {}
    for tier in study.tiers.levels:
        votes[tier] = [int(number) for number in top]
        top = rng.binomial(top, 0.15)
    return votes


@dataclass(frozen=True)
class Rater:
    """A panel of people or a model, on D dimensions with K thresholds, T types and M modalities of items."""

    judge: str
    kind: str
    mean: Floats  # shape (D, T): mean of the latent value by type, on the logit scale
    shift: Floats  # shape (D, M): what a modality adds to it
    # shape (D, T): standard deviation of the latent value within a type; of models it is the same for all
    # types
    item_sd: Floats
    threshold: Floats  # shape (D, K): rising
    # shape (D, D): between dimensions within a type: of the consensus, and for a model of what it does not
    # share with it
    correlation: Floats
    topic_share: float  # share of the variance within a type that all items of a topic have in common
    severity_sd: Floats  # shape (D,): between people
    severity_correlation: float  # between a person's severities on two dimensions
    discrimination_sd: float  # of the logarithm of people's discrimination, whose mean is 0
    halo_sd: float  # of what all dimensions of one person's rating of an item share
    # shape (D,): of a model's latent values with the consensus within a type of average spread; 1 for people
    consensus_correlation: Floats
    # shape (D,): share of the variance of a model's errors that all models have in common; 0 for people.
    # Errors of two models correlate by the geometric mean of their shares
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
        """Covariance over dimensions of the part of a model's standardised errors that is its own, (D, D)."""
        # `common`, shape (D, D), is the correlation between dimensions of what models have in common.
        root = np.sqrt(self.model_shared)
        return np.asarray(self.correlation - root[:, None] * common * root)


@dataclass(frozen=True)
class RatingTruth:
    """A panel, models, and the sizes of a full simulation.

    Parameters
    ----------
    panel : Rater
        The panel of people.
    models : tuple of Rater
        The models.
    dimensions, types : tuple of str
        Ids of scales, and of the levels of the column that distinguishes the items of a topic.
    topics : mapping of str to int
        Number of topics in each modality.
    people : int
        Number of people.

    Examples
    --------
    >>> from conjury.inference.simulation.ratings import read_rating_truth
    >>> from conjury.inference.study import load_any_study
    >>> study = load_any_study("oogiri")
    >>> truth = read_rating_truth(study.folder / "truth.csv", study)
    >>> truth.panel.judge, truth.people, truth.dimensions[:2]
    ('human', 104, ('novelty', 'clarity'))
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


@dataclass(frozen=True)
class ItemCells:
    """Cells of n items: their type, their modality and their topic, each of shape (n,)."""

    type: Integers
    modality: Integers
    topic: Integers


@dataclass(frozen=True)
class RaterTraits:
    """Severity of P people on D dimensions, shape (P, D), and their discrimination, shape (P,)."""

    severity: Floats
    discrimination: Floats


@dataclass(frozen=True)
class Noise:
    """Standard normal deviations of the topics of n items and of the items alone, each of shape (n, D)."""

    # Both are correlated over dimensions by the same matrix.

    topic: Floats
    single: Floats

    def mixed(self, topic_share: float) -> Floats:
        """Deviations of items of which topics have a share, shape (n, D)."""
        return np.asarray(np.sqrt(topic_share) * self.topic + np.sqrt(1 - topic_share) * self.single)


def noise(covariance: Floats, topic: Integers, rng: np.random.Generator) -> Noise:
    """Draw deviations whose covariance over dimensions is given, shape (D, D)."""
    root = np.linalg.cholesky(covariance)
    shared = rng.standard_normal((int(topic.max(initial=0)) + 1, len(root)))
    single = rng.standard_normal((len(topic), len(root)))
    return Noise(shared[topic] @ root.T, single @ root.T)


def means(rater: Rater, cells: ItemCells) -> Floats:
    """Mean latent values of items by their type and modality, shape (n, D)."""
    return np.asarray(rater.mean[:, cells.type].T + rater.shift[:, cells.modality].T)


def consensus(panel: Rater, cells: ItemCells, rng: np.random.Generator) -> Floats:
    """Latent quality of items as people see it, shape (n, D)."""
    deviation = noise(panel.correlation, cells.topic, rng).mixed(panel.topic_share)
    return means(panel, cells) + panel.item_sd[:, cells.type].T * deviation


def common_errors(truth: RatingTruth, cells: ItemCells, rng: np.random.Generator) -> Noise:
    """What the errors of all models have in common."""
    return noise(truth.common, cells.topic, rng)


def model_values(
    model: Rater,
    truth: RatingTruth,
    quality: Floats,
    cells: ItemCells,
    common: Noise,
    rng: np.random.Generator,
) -> Floats:
    """Latent values of items as a model sees them, shape (n, D), given quality and models' common errors."""
    agreed = model.slope(truth.panel) * (quality - means(truth.panel, cells))
    alone = noise(model.alone(truth.common), cells.topic, rng).mixed(model.topic_share)
    error = np.sqrt(model.model_shared) * common.mixed(model.topic_share) + alone
    return means(model, cells) + agreed + model.own_sd * error


def draw_people(panel: Rater, people: int, rng: np.random.Generator) -> RaterTraits:
    """Draw the people of a panel."""
    alike = panel.severity_correlation
    common = rng.standard_normal((people, 1))
    single = rng.standard_normal((people, len(panel.severity_sd)))
    severity = panel.severity_sd * (np.sqrt(alike) * common + np.sqrt(1 - alike) * single)
    return RaterTraits(severity, np.exp(panel.discrimination_sd * rng.standard_normal(people)))


def panel_ratings(
    panel: Rater,
    people: RaterTraits,
    quality: Floats,
    item: Integers,
    person: Integers,
    rng: np.random.Generator,
) -> Integers:
    """Ratings, shape (m, D) and counted from 0, that people give to items; one row each time."""
    halo = panel.halo_sd * rng.standard_normal((len(item), 1))
    value = people.discrimination[person, None] * quality[item] + halo - people.severity[person]
    return by_thresholds(value, panel.threshold, rng)


def by_thresholds(value: Floats, threshold: Floats, rng: np.random.Generator) -> Integers:
    """Ratings of latent values by a cumulative logit, shape (m, D) and counted from 0."""
    felt = value + rng.logistic(size=value.shape)
    return np.asarray((felt[:, :, None] > threshold[None]).sum(axis=2), dtype=np.int64)
