"""Ratings and labels by people over many items, from people's answers on few of them and a model's on all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed, not_percent
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.schema import SAMPLING

from ...correction.correction_methods import PPI, PredictThenDebias
from ...correction.debias import FOLDS, Tuning
from ...correction.item_corrections import (
    EstimateVariances,
    answers_differ,
    charge_weights,
    clustered_numbers,
    concatenate_numbers,
    correct,
    gains_of,
    interval_table,
    moved_note,
    quantile,
    stack_sources,
    weighted_mean,
)
from ...correction.monotone_calibration import CALIBRATED
from ...correction.sources import CLUSTERS, low_correlation
from ...frames.notes import Note, name_keys
from ...frames.vocabulary import CORRECTED_BY_MODELS
from ...numerics.bootstrap import unequal_clusters
from ...numerics.intervals import SHARE, UNBOUNDED, Support, check_alpha
from ...numerics.types import Floats
from ...results import Result
from ..ratings import Judgments, Ratings
from ..reading import read_dimensions
from .dimension_answers import ITEM, JUDGE, DimensionAnswers, answers_of
from .mean_ratings import Flags, stratum_names, with_categorical_keys

Statistic = Literal["mean", "proportion", "quantile", "share"]
MOST = 2_000  # values at which the distribution of ratings is estimated for a quantile, at most
BLOCK = 200  # of them at a time
_INSIDE = ("coefficient", "none")


@any_frame
def prediction_powered(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    statistic: Statistic = "mean",
    at_least: float | Sequence[float] | None = None,
    q: float | Sequence[float] = 0.5,
    human: str | Sequence[str] = "human",
    model: str | Sequence[str] = "model",
    by: str | Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    cluster: str | Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
    overall: bool = False,
    calibration: bool = False,
    tuning: Tuning = "coefficient",
    folds: int = FOLDS,
    seed: int = 1,
    alpha: float = 0.05,
) -> Result:
    """Estimate ratings or labels by people over all items, from people's few and a model's many answers.

    People answered for some items, the labelled ones; models answered for these and for others. The estimate
    from people is moved by what the models' answers say about the difference between labelled and other
    items, with a weight that is near 0 where a model does not answer as people do. It estimates what people
    alone estimate, whatever the models answer, if the labelled items are a random sample of all.

    Every item counts once: an item's value is the mean over people, and of each over their samples. A mean
    over labelled items has the influence (y - mean) / n on itself, summed by cluster; the variance from G
    clusters has the factor G / (G - 1). Degrees of freedom are those of Welch and Satterthwaite. Quantiles
    invert the corrected distribution function of single ratings: the least rating up to which the share of
    ratings is at least ``q``, with the ratings between which the interval of that share contains ``q``; there
    is no standard error.

    A model's missing or refused answer counts as the mean of its answers, in labelled and other items alike;
    for shares of labels it is a category of its own.

    Parameters
    ----------
    judgments : DataFrame
        No coded ratings, which lack answers that could not be used: ``judge_id, judge_kind, item_id, value``,
        and, where there are any, ``dimension, status, sample, prompt_id, panel, excluded, probability`` and
        ``sampling_probability``.
    items : DataFrame, optional
        ``item_id``, the columns of ``by`` and ``cluster``, and ``sampling_probability``: the probability with
        which an item was chosen for people. Where it differs, labelled items have the weight 1 / probability,
        and are compared with all items that the models answered.
    statistic : {"mean", "proportion", "quantile", "share"}
        Mean rating; share of ratings of ``at_least`` so much; quantile ``q`` of ratings; share of each label.
    at_least : float or sequence of float, optional
        Of "proportion".
    q : float or sequence of float
        Of "quantile", between 0 and 1; 0.5 is the median.
    human, model : str or sequence of str
        As in `conjury.analysis.correction.PredictThenDebias`; each prompt of a model has a weight, too.
    by, dimensions
        As in `conjury.analysis.raters.means`.
    cluster : str or sequence of str, optional
        What is independent of each other: by default items; a column of items such as ``"topic_id"``; with
        ``"judge_id"`` among several names, people as well, so that intervals are about other people, too
        (Cameron, Gelbach and Miller 2011). Folds are of the first column that is not ``"judge_id"``.
    scale, overall
        As in `conjury.analysis.raters.means`.
    calibration : bool
        Whether each model counts twice, with a weight each: by its ratings, and by a monotone map of them to
        people's values (isotonic regression), cross-fitted on the folds by which the weights are chosen. It
        makes intervals shorter where a model's scale is bent, most for shares and quantiles; a straight one
        costs a degree of freedom. A share that fewer than ten of people's answers count towards, or against,
        has no map. Columns of weights are then ``weight_MODEL`` and ``weight_MODEL,
        calibrated``.
    tuning, folds, seed
        As in `conjury.analysis.correction.PredictThenDebias`, whose "scalar" is for all levels of a stratum
        together; quantiles take the tuning "coefficient" or "none".
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Result
        Kind "prediction_powered_items", three rows and more for each estimate: ``dimension, statistic, level,
        *by, source`` ("human only", "corrected", "MODEL only"), ``estimate, std_error, df, lower, upper,
        n_labelled, n_other, rho`` (correlation of people's and models' influence), ``weight`` (or
        ``weight_MODEL``), ``gain`` (variance of people alone over that of the corrected estimate; for
        quantiles, of the share at it) and ``n_effective`` (the labelled items that would have had that
        variance alone). A model alone is about all items that it answered.

    Raises
    ------
    InputError
        For names that no row has, models that answered labelled items alone or none of them, labels without
        sampling probabilities on items about which a model is far less or more certain than about others, and
        invalid options.

    References
    ----------
    Kluger, D. M., Lu, K., Zrnic, T., Wang, S., Bates, S. (2025). Prediction-powered inference with imputed
    covariates and nonuniform sampling. doi:10.48550/arXiv.2501.18577

    Angelopoulos, A. N., Bates, S., Fannjiang, C., Jordan, M. I., Zrnic, T. (2023). Prediction-powered
    inference. Science 382, 669-674. doi:10.1126/science.adi6000

    Cameron, A. C., Gelbach, J. B., Miller, D. L. (2011). Robust inference with multiway clustering. Journal
    of Business & Economic Statistics 29, 238-249. doi:10.1198/jbes.2010.07136

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> quality = rng.normal(3, 1, 300)
    >>> people = pd.DataFrame({"judge_id": "ann", "judge_kind": "human", "item_id": range(60),
    ...     "value": quality[:60] + rng.normal(0, 0.4, 60)})
    >>> gpt = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": range(300),
    ...     "value": quality + 1 + rng.normal(0, 0.4, 300)})
    >>> found = prediction_powered(pd.concat([people, gpt])).frame
    >>> found[["source", "estimate", "std_error"]].round(2).values.tolist()
    [['human only', 2.91, 0.13], ['corrected', 2.86, 0.09], ['gpt only', 3.91, 0.06]]
    """
    check_alpha(alpha)
    target, method = (
        _Target.of(statistic, at_least, q, tuning, calibration),
        PredictThenDebias(human, model, tuning, folds, seed),
    )
    if not isinstance(judgments, pd.DataFrame):
        raise InputError(
            "correct='ppi' needs the table of judgments, which contains the answers that could not be used; "
            "give it instead of coded ratings."
        )
    by, names = names_of(by), names_of(cluster) or [ITEM]
    if set(names) <= {JUDGE}:
        names = [ITEM, *names]
    names = sorted(dict.fromkeys(names), key=lambda name: name == JUDGE)
    sampled = [SAMPLING] if SAMPLING in judgments or (items is not None and SAMPLING in items) else []
    item_columns = [*by, *(name for name in names if name not in (ITEM, JUDGE)), *sampled]
    read = read_dimensions(
        judgments,
        dimensions,
        items=items,
        columns=list(dict.fromkeys(item_columns)),
        scale=scale,
        numeric=None if statistic == "share" else True,
    )
    ends = (float(min(scale)), float(max(scale))) if scale is not None and len(scale) else UNBOUNDED
    target = replace(target, alpha=alpha, support=ends if statistic == "mean" else SHARE)
    tables: list[pd.DataFrame] = []
    notes: list[str] = []
    people: list[str] = []
    models: list[str] = []
    weighted = False
    for ratings in read:
        if calibration and not ratings.numeric:
            raise InputError(
                f"{ratings.dimension}: labels have no order, so that no monotone map of them exists; omit "
                "calibration, or give ratings."
            )
        data = answers_of(ratings, human, model, item_columns, names)
        dimension_tables, dimension_notes = _dimension_tables(data, by, overall, target, method)
        tables += dimension_tables
        notes += [
            ratings.note(note) if len(read) > 1 else note for note in [*ratings.notes, *dimension_notes]
        ]
        people, models = [*people, *data.people], [*models, *data.models]
        weighted |= data.weight is not None
    if not tables:
        raise InputError(f"judgments: {notes[-1]} Label more items, ask the model about more, or omit by.")
    if JUDGE not in names:
        notes.append("Intervals are about other items; the people who answered are treated as fixed.")
    settings = {
        "correct": PPI,
        "statistic": statistic,
        "by": by,
        "cluster": names,
        "human": list(dict.fromkeys(people)),
        "model": list(dict.fromkeys(models)),
        "tuning": tuning,
        "calibration": calibration,
        "folds": folds,
        "seed": seed,
        "alpha": alpha,
        "weighted": weighted,
    }
    frame = with_categorical_keys(pd.concat(tables, ignore_index=True), ["dimension", "level", *by, "source"])
    return Result(frame, "prediction_powered_items", tuple(dict.fromkeys(notes)), settings)


@dataclass(frozen=True)
class _Target:
    """What is estimated of the ratings."""

    statistic: str
    levels: tuple[float, ...]  # thresholds or orders of quantiles
    alpha: float = 0.05
    support: Support = UNBOUNDED
    calibration: bool = False

    @staticmethod
    def of(
        statistic: str,
        at_least: float | Sequence[float] | None,
        q: float | Sequence[float],
        tuning: str,
        calibration: bool,
    ) -> _Target:
        """Check the statistic and what belongs to it."""
        if statistic not in get_args(Statistic):
            raise InputError(f"statistic is {statistic!r}; give one of {listed(get_args(Statistic))}.")
        if (statistic == "proportion") == (at_least is None):
            raise InputError(
                "at_least applies to statistic='proportion'; give both, such as at_least=4, or neither."
            )
        values = at_least if statistic == "proportion" else q if statistic == "quantile" else ()
        levels = tuple(np.atleast_1d(np.asarray(values, dtype=float)).tolist())
        if statistic == "quantile":
            if not levels or not all(0 < level < 1 for level in levels):
                raise InputError(
                    f"q is {q!r}{not_percent(q)}; give numbers between 0 and 1, such as 0.5 for the median."
                )
            if tuning not in _INSIDE:
                raise InputError(f"tuning is {tuning!r}; quantiles take {listed(_INSIDE)}.")
        return _Target(statistic, levels, calibration=calibration)

    def values(self, ratings: Ratings) -> Floats:
        """What is averaged of each rating, shape (n, m)."""
        if self.statistic == "mean":
            return ratings.value[:, None]
        if self.statistic == "share":
            return np.asarray(ratings.category[:, None] == np.arange(len(ratings.categories)), dtype=float)
        return np.asarray(ratings.value[:, None] >= np.array(self.levels), dtype=float)

    def names(self, ratings: Ratings) -> list[str]:
        """Names of the m levels."""
        if self.statistic == "share":
            return [f"{name:g}" if ratings.numeric else str(name) for name in ratings.categories]
        return [f"{level:g}" for level in self.levels] or [""]


def _dimension_tables(
    data: DimensionAnswers, by: Sequence[str], overall: bool, target: _Target, method: PredictThenDebias
) -> tuple[list[pd.DataFrame], list[str]]:
    """Tables of all strata, and what readers should know."""
    notes: list[str] = []
    tables, clusters, moved = [], [], 0
    strata = [*data.cells(()), *(data.cells(by) if by else ())] if overall else list(data.cells(by))
    if not strata:
        notes.append(Note.of("No estimate: no item has a value of {columns}.", columns=by))
    estimate = _quantiles if target.statistic == "quantile" else _moments
    for level, inside in strata:
        names = stratum_names(by, level)
        if not data.is_enough(inside):
            notes.append(
                Note.of(
                    "No estimate{where}: a correction needs two clusters of labelled items, two of others, "
                    "and every model's answers in both.",
                    where=Note.of(" for {keys}", keys=name_keys(names)) if names else "",
                )
            )
            continue
        sources, gains = estimate(data, inside, target, method)
        n_labelled, n_other = (int((flags & inside).sum()) for flags in (data.labelled, data.other))
        levels = target.names(data.ratings)
        keys = pd.DataFrame(
            {"dimension": data.ratings.dimension, "statistic": target.statistic, "level": levels}
        )
        table = stack_sources(keys.assign(**names), sources, gains, n_labelled, n_other)
        tables.append(table)
        clusters.append(np.full(len(table), data.clusters_in(inside)))
        for codes in data.clusterings.values():
            notes += unequal_clusters(codes[data.labelled & inside], "Labelled items: ")
        moved += _is_moved(data, inside)
    if not tables:
        return tables, notes
    rho = np.concatenate([table["rho"].to_numpy(dtype=float) for table in tables])
    notes += low_correlation(rho, np.concatenate(clusters), CLUSTERS)
    notes += moved_note(moved, len(tables))
    if target.statistic == "share" and method.tuning != "scalar":
        notes.append("Each share has its own weight, so corrected shares need not sum to 1.")
    if target.statistic == "quantile":
        notes.append(
            "Quantiles are of single ratings; their intervals invert those of the distribution function."
        )
    for name, count in data.unanswered.items():
        instead = (
            "have a category of their own" if target.statistic == "share" else "count as its mean answer"
        )
        text = "{judge} gave no usable answer to {n:,} items; these are kept and {instead}."
        notes.append(Note.of(text, judge=name, n=count, instead=instead))
    return tables, notes


def _numbers(
    data: DimensionAnswers, inside: Flags, values: Floats, target: _Target, method: PredictThenDebias
) -> tuple[dict[str, EstimateVariances], pd.DataFrame]:
    """Weighted means of values of ratings (n, m) by source, and what the models add."""
    models = data.of_items(values, 0.0 if target.statistic == "share" else None)
    scores = [part[:, 0] for part in data.of_items(data.ratings.value[:, None])] if target.calibration else ()
    rows = data.rows(inside, data.of_pairs(values), models, scores, method)
    names = [*data.models, *(f"{name}, {CALIBRATED}" for name in data.models if target.calibration)]
    by_model = {}
    for name, item_means, is_asked in zip(data.models, models, data.asked, strict=True):
        items = np.flatnonzero(is_asked & inside)
        codes = next(iter(data.clusterings.values()))
        mean = weighted_mean(item_means[items], np.ones(len(items)))
        by_model[name] = clustered_numbers(mean, codes[items])
    corrected = correct(rows, method)
    if target.calibration:
        n_labelled, n_other = rows.n_clusters
        df = np.full(len(corrected.gain), n_labelled - 1.0)
        corrected = charge_weights(corrected, df, len(names), n_other - 1.0)
    return corrected.by_source(by_model), gains_of(corrected, names)


def _moments(
    data: DimensionAnswers, inside: Flags, target: _Target, method: PredictThenDebias
) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Numbers of means and shares by source, and what the models add."""
    sources, gains = _numbers(data, inside, target.values(data.ratings), target, method)
    share = target.statistic != "mean"
    tables = {
        name: interval_table(numbers, target.alpha, target.support, share=share)
        for name, numbers in sources.items()
    }
    return tables, gains


def _quantiles(
    data: DimensionAnswers, inside: Flags, target: _Target, method: PredictThenDebias
) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Quantiles of ratings by source, and what the models add to the share of ratings up to them."""
    value = data.ratings.value
    grid = np.unique(value[np.logical_or.reduce([data.of_people, *data.of_models])])
    if len(grid) > MOST:
        grid = grid[np.linspace(0, len(grid) - 1, MOST).round().astype(int)]
    blocks = [
        _numbers(data, inside, np.asarray(value[:, None] <= part, dtype=float), target, method)
        for part in np.split(grid, range(BLOCK, len(grid), BLOCK))
    ]
    gains = pd.concat([gains for _, gains in blocks], ignore_index=True)
    tables, places = {}, {}
    for name in blocks[0][0]:
        numbers = concatenate_numbers([sources[name] for sources, _ in blocks])
        quantiles = [quantile(numbers, grid, q, target.alpha) for q in target.levels]
        places[name] = [row[0] for row in quantiles]
        tables[name] = pd.DataFrame(
            {
                "estimate": grid[places[name]],
                "std_error": np.nan,
                "df": numbers.df[places[name]],
                "lower": [row[1] for row in quantiles],
                "upper": [row[2] for row in quantiles],
            }
        )
    return tables, gains.iloc[places[CORRECTED_BY_MODELS]].reset_index(drop=True)


def _is_moved(data: DimensionAnswers, inside: Flags) -> bool:
    """Whether a model's answers to labelled items differ from those to others by more than chance."""
    if data.weight is not None:
        return False
    ratings = data.ratings
    mean = _Target("mean" if ratings.numeric else "share", ())
    values = mean.values(ratings)
    rows = data.rows(inside, data.of_pairs(values), data.of_items(values))
    return answers_differ(rows)
