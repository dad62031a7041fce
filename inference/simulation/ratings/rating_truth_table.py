"""The truth table of a study of ratings: how people and models of a simulation rate.

People of a panel rate by a cumulative logit with a consensus: the latent quality of an item on a dimension is
``mean`` of its type, plus the ``modality`` shift, plus a deviation with standard deviation ``item_sd``. A
person multiplies it by a discrimination, subtracts a severity, adds a halo that all dimensions of one rating
share, and compares the sum with the thresholds. A model rates a latent value of its own that goes along with
the consensus as far as ``consensus_correlation`` states; what it does not share with the consensus is its
error, a part of which, ``model_shared``, all models have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ...errors import InputError, listed
from ...study.models import ItemStudy
from ...study.study_yaml import suggestion
from ..truth_table import HUMAN, MODEL, Floats, ParameterRule, Values, one_panel, read_rows
from .rating_draws import Rater, RatingTruth

FILE = "truth.csv"
COLUMNS = ["judge", "judge_kind", "parameter", "dimension", "level", "value"]
LEAST = 1e-8  # eigenvalue of a matrix that counts as positive definite

RULES = {
    "topics": ParameterRule(1, 1e6, HUMAN, ("level",)),
    "people": ParameterRule(1, 1e6, HUMAN),
    "mean": ParameterRule(-100, 100, needed=("dimension", "level")),
    "modality": ParameterRule(-100, 100, needed=("dimension", "level")),
    "item_sd": ParameterRule(0.01, 100, needed=("dimension",), allowed=("level",)),
    "threshold": ParameterRule(-100, 100, needed=("dimension", "level")),
    "correlation": ParameterRule(-1, 1, needed=("dimension", "level")),
    "topic_share": ParameterRule(0, 1),
    "severity_sd": ParameterRule(0, 100, HUMAN, allowed=("dimension",)),
    "severity_correlation": ParameterRule(0, 1, HUMAN),
    "discrimination_sd": ParameterRule(0, 2, HUMAN),
    "halo_sd": ParameterRule(0, 100, HUMAN),
    "consensus_correlation": ParameterRule(-1, 1, MODEL, needed=("dimension",)),
    "model_shared": ParameterRule(0, 0.99, MODEL, allowed=("dimension",)),
}


def read_rating_truth(source: Path | pd.DataFrame, study: ItemStudy) -> RatingTruth:
    """Read the truth table of a study of ratings.

    Parameters
    ----------
    source : Path or DataFrame
        Columns ``judge, judge_kind, parameter, dimension, level, value``.

        ``mean`` has a type of item as level, ``modality`` a modality, ``threshold`` the rating that begins
        there, ``correlation`` the other dimension (two that are not listed have 0), ``item_sd`` a type or
        nothing (all types); ``severity_sd`` and ``model_shared`` may leave the dimension empty (all
        dimensions); ``topic_share, severity_correlation, discrimination_sd, halo_sd`` have neither;
        ``topics`` (level: a modality) and ``people`` are the sizes of a full simulation.
    study : ItemStudy
        A study of items with scales and an assignment.

    Returns
    -------
    RatingTruth
        The truth table, checked against the study.

    Raises
    ------
    InputError
        With file (or table), line and remedy.

    Examples
    --------
    >>> from conjury.inference.study import load_any_study
    >>> study = load_any_study("oogiri")
    >>> truth = read_rating_truth(study.folder / "truth.csv", study)
    >>> [model.judge for model in truth.models]
    ['gpt_4_1', 'gemini_2_5_pro', 'claude_sonnet_4']
    """
    dimensions, types, ratings = tuple(study.scale_labels), _types(study), _ratings(study)
    choices = {
        "judge": study.judge_labels,
        "dimension": dimensions,
        "mean.level": types,
        "item_sd.level": types,
        "threshold.level": ratings,
        "correlation.level": dimensions,
    }
    table = read_rows(source, COLUMNS, RULES, choices)
    place, values = table.place, table.values(("judge",), ("dimension", "level"))
    panel = one_panel(place, table.kinds)
    sizes = values.get((panel or "",), {})
    if "topics" not in sizes:
        raise InputError(
            f"{place}: the number of topics is missing; add a row with the parameter topics and a modality "
            "as its level."
        )
    if "people" not in sizes:
        raise InputError(f"{place}: the number of people is missing; add a row with the parameter people.")
    names = _TruthNames(dimensions, types, tuple(level for _, level in sizes["topics"]), ratings)
    for row in table.rows:
        if row.parameter == "modality" and row.cells["level"] not in names.modalities:
            raise InputError(f"{row.at}: column 'level': {suggestion(row.cells['level'], names.modalities)}")
    raters = {judge: _rater(place, judge, kind, values[judge,], names) for judge, kind in table.kinds.items()}
    truth = RatingTruth(
        raters[str(panel)],
        tuple(rater for rater in raters.values() if rater.kind == MODEL),
        names.dimensions,
        names.types,
        {modality: round(number) for (_, modality), number in sizes["topics"].items()},
        round(sizes["people"]["", ""]),
    )
    for model in truth.models:
        if np.linalg.eigvalsh(model.alone(truth.common))[0] < LEAST:
            raise InputError(
                f"{place}: {model.judge} cannot share so much of its errors with other models, given their "
                "correlations between dimensions; lower its model_shared, or bring that of its dimensions "
                "nearer to each other."
            )
    return truth


@dataclass(frozen=True)
class _TruthNames:
    dimensions: tuple[str, ...]
    types: tuple[str, ...]
    modalities: tuple[str, ...]
    ratings: tuple[str, ...]  # ratings above the lowest, each with a threshold below it


def _types(study: ItemStudy) -> tuple[str, ...]:
    if not study.scales or study.assignment is None:
        raise InputError(
            f"Study {study.name} has no rating scales or no assignment, so its ratings cannot be simulated; "
            "add both to the study file."
        )
    return tuple(study.levels(study.assignment.across))


def _ratings(study: ItemStudy) -> tuple[str, ...]:
    ends = {(scale.minimum, scale.maximum) for scale in study.scales}
    if len(ends) > 1:
        raise InputError(
            f"Study {study.name}: its scales end at different ratings ({listed(sorted(ends))}); simulate "
            "scales that agree."
        )
    ((lowest, highest),) = ends
    return tuple(str(rating) for rating in range(lowest + 1, highest + 1))


def _rater(place: str, judge: str, kind: str, values: Values, names: _TruthNames) -> Rater:
    def table(parameter: str, levels: tuple[str, ...], default: float | None = None) -> Floats:
        """Values by dimension and level, shape (D, levels); a row without one counts for all."""
        entries = values.get(parameter, {})
        matrix = np.empty((len(names.dimensions), len(levels)))
        for row, dimension in enumerate(names.dimensions):
            for column, level in enumerate(levels):
                keys = ((dimension, level), (dimension, ""), ("", ""))
                value = next((entries[key] for key in keys if key in entries), default)
                if value is None:
                    raise InputError(
                        f"{place}: {parameter} of {judge} for {dimension} {level} is missing; add a row."
                    )
                matrix[row, column] = value
        return matrix

    def single(parameter: str) -> float:
        return values.get(parameter, {}).get(("", ""), 0.0)

    nothing = ("",)
    rater = Rater(
        judge,
        kind,
        table("mean", names.types),
        table("modality", names.modalities, 0.0),
        table("item_sd", names.types),
        table("threshold", names.ratings),
        _correlation(place, judge, values.get("correlation", {}), names.dimensions),
        single("topic_share"),
        table("severity_sd", nothing, 0.0)[:, 0],
        single("severity_correlation"),
        single("discrimination_sd"),
        single("halo_sd"),
        table("consensus_correlation", nothing, 1.0 if kind == HUMAN else None)[:, 0],
        table("model_shared", nothing, 0.0)[:, 0],
    )
    _check_rater(place, rater, names)
    return rater


def _check_rater(place: str, rater: Rater, names: _TruthNames) -> None:
    falling = (np.diff(rater.threshold, axis=1) <= 0).any(axis=1)
    if falling.any():
        dimension = names.dimensions[int(falling.argmax())]
        raise InputError(
            f"{place}: the thresholds of {rater.judge} for {dimension} do not rise; give each a higher value "
            "than the one before."
        )
    if rater.kind == MODEL and (np.ptp(rater.item_sd, axis=1) > 0).any():
        raise InputError(
            f"{place}: item_sd of {rater.judge} differs between types; give a model one for each dimension."
        )


def _correlation(
    place: str, judge: str, entries: dict[tuple[str, str], float], dimensions: tuple[str, ...]
) -> Floats:
    """Build the correlation matrix, shape (D, D), from its listed pairs."""
    matrix = np.eye(len(dimensions))
    for (a, b), value in entries.items():
        row, column = dimensions.index(a), dimensions.index(b)
        if row == column or (b, a) in entries:
            raise InputError(
                f"{place}: correlation of {judge} for {a} and {b} is given twice or is of a dimension "
                "with itself; keep one row for each pair."
            )
        matrix[row, column] = matrix[column, row] = value
    if np.linalg.eigvalsh(matrix)[0] < LEAST:
        raise InputError(
            f"{place}: the correlations of {judge} contradict each other (the matrix is not positive "
            "definite); bring them nearer to 0."
        )
    return matrix
