"""Calibration of probabilities: whether events to which a judge gives 70% happen in 70% of units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ...correction.monotone_calibration import isotonic
from ...frames.notes import note_under
from ...numerics.bootstrap import ItemWeightings
from ...numerics.intervals import SAME, wilson
from ...numerics.metrics.probability_metrics import CALIBRATION_METRICS
from ...numerics.types import Codes, Floats
from ...results import AnalysisStep, Result, analysis
from ..data.scoring import Scored, TaskCell
from ..intervals import (
    IntervalPlan,
    StatisticInterval,
    bounds_of,
    cluster_codes,
    counts_of,
    interval_notes,
    metric_row,
    pooled_notes,
)
from ..parse_status import MISSING, NO_ANSWER
from .probability_scores import CHUNK, PROBABILITY, NoProbabilities, class_probabilities, measured_notes
from .recalibration import binned, consistency_band, corp, equal_bins, logistic

if TYPE_CHECKING:
    from ..data.label_answers import LabelAnswers

BINS = 10
SMALLEST = 1e-6  # probabilities are no closer to 0 and 1 than this in logits
BAND_DRAWS = 400  # of outcomes, at most
GIVEN = "given label"
REFLECTION = "Intervals of reliability and calibration error are reflected at the estimate."


@any_frame
def calibration(
    scored: Scored,
    *,
    by: Sequence[str] = (),
    bins: int = BINS,
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
) -> Result:
    """Whether the probabilities that judges give are met by the shares of labels that are correct.

    With two classes the event is the second class. With more, it is that the given label is correct. Answers
    without a probability are excluded and counted.

    Parameters
    ----------
    scored : Scored
        Of judgments with ``probability`` (of the label that is given) or ``probability_X`` for every class X.
    by
        As in `scores`.
    bins : int
        Bins of probabilities, about as many answers in each, for calibration errors and the parts of the
        Brier score.
    draws, seed, alpha, cluster
        As in `scores`.

    Returns
    -------
    Result
        Kind "calibration": the columns of `scores` with ``event``, a row for each metric.

        ``calibration_intercept, calibration_slope``: of the logistic regression of the event on the logit of
        its probability; 0 and 1 if calibrated, a slope below 1 if probabilities are too extreme.
        ``calibration_in_the_large``: the intercept with a slope of 1, above 0 if events are more frequent
        than stated. Probabilities beyond 1e-6 and 1 - 1e-6 count as these in logits. Missing where no finite
        coefficients fit (separated or constant outcomes, equal probabilities).

        ``ece_debiased``: expected calibration error less an estimate of its excess from noise (Kumar and
        others); near calibration some excess remains, since it is never below 0.
        ``brier``: mean squared difference of probability and event. ``reliability, resolution,
        uncertainty``: its parts between bins, unbiased (Ferro and Fricker) and so perhaps below 0;
        reliability less resolution plus uncertainty is the Brier score up to the variation of probabilities
        within bins.

        ``extra``: ``curve`` (the isotonic curve: ``probability, estimate``, and ``lower, upper`` of the
        consistency band, within which calibrated probabilities would have it), ``bins`` (``probability``,
        its mean; ``estimate``, the share of events, with Wilson limits; ``n_answers``), and ``corp``
        (``miscalibration, discrimination, uncertainty`` without bins: Brier is the first less the second
        plus the third).

    Raises
    ------
    InputError
        Where no judge's labels have probabilities; for fewer than 2 bins.

    Notes
    -----
    Intervals resample clusters; those of ``ece_debiased`` and ``reliability`` are reflected at the estimate,
    since draws add noise to them once more. Within-bin shares take answers as independent.

    References
    ----------
    Cox, D. R. (1958). Biometrika 45, 562-565. doi:10.1093/biomet/45.3-4.562

    Ferro, C. A. T., Fricker, T. E. (2012). Quarterly Journal of the Royal Meteorological Society 138,
    1954-1960. doi:10.1002/qj.1924

    Kumar, A., Liang, P., Ma, T. (2019). Verified uncertainty calibration. NeurIPS 32. arXiv:1909.10155

    Dimitriadis, T., Gneiting, T., Jordan, A. I. (2021). Stable reliability diagrams for probabilistic
    classifiers. PNAS 118(8), e2016191118. doi:10.1073/pnas.2016191118

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> items = [f"j{n}" for n in range(8)]
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": items,
    ...     "dimension": "harm", "value": ["safe"] * 4 + ["harmful"] * 4, "probability": [0.8] * 8})
    >>> gold = pd.DataFrame({"item_id": items, "label_set": "harm",
    ...     "label": ["safe", "safe", "safe", "harmful", "safe", "harmful", "harmful", "harmful"]})
    >>> table = calibration(score(judged, gold), draws=0).frame.set_index("metric")
    >>> float(table.loc["calibration_slope", "estimate"].round(3))  # log(3) / log(4)
    0.792
    """
    plan = IntervalPlan(draws, seed, alpha, cluster)
    if bins < 2:
        raise InputError(f"bins is {bins}; give 2 or more.")
    rows: list[dict[str, Any]] = []
    extra: dict[str, list[pd.DataFrame]] = {"curve": [], "bins": [], "corp": []}
    notes: list[str] = []
    covered: list[str] = []
    refused: list[InputError] = []
    for cell in scored.cells(by):
        about = {name: value for name, value in cell.keys.items() if name != "judge_kind"}
        try:
            event, p, y = events(cell)
        except NoProbabilities as error:
            refused.append(error)
            notes.append(note_under(about, "excluded, since no answer has a probability."))
            continue
        mask = np.isfinite(p)
        if not mask.all():
            without = f"{int((~mask).sum()):,} of {len(p):,} answers have no probability."
            notes.append(note_under(about, without))
        p, y, frame, keys = p[mask], y[mask], cell.frame.loc[mask], {**cell.keys, "event": event}
        rows += _rows(keys, p, y, frame, bins, plan)
        notes += [
            note_under(about, text) for text in _notes_on_judge(p, y, rows[-len(CALIBRATION_METRICS) :])
        ]
        events_of = np.array([(y == 0).sum(), (y == 1).sum()], dtype=float)
        covered += measured_notes("calibration", CALIBRATION_METRICS, events_of, frame, plan)
        for name, table in _tables(p, y, frame, bins, plan).items():
            extra[name].append(table.assign(**keys)[[*keys, *table.columns]])
    if not rows:
        raise refused[0]
    frame = pd.DataFrame(rows)
    settings = {"by": list(by), "missing": [MISSING], "bins": bins, **vars(plan)}
    all_notes = (*scored.notes, *notes, *pooled_notes(scored, by), *interval_notes(frame, plan, scored))
    all_notes += (REFLECTION,) if draws else ()
    all_notes += tuple(dict.fromkeys(covered))
    tables = {name: pd.concat(parts, ignore_index=True) for name, parts in extra.items()}
    return Result(frame, "calibration", all_notes, settings, tables)


def events(cell: TaskCell) -> tuple[str, Floats, Floats]:
    """The event, its probability by answer (NaN where it is not known) and whether it happened, each (n,)."""
    gold, k = cell.codes("gold"), len(cell.classes)
    if k == 2:
        p = class_probabilities(cell)[:, 1]
        event, y = cell.classes[1], (gold == 1).astype(float)
    else:
        predicted = cell.codes("predicted")
        answered = (predicted != NO_ANSWER) & (predicted < k)
        try:
            p = class_probabilities(cell)[np.arange(len(gold)), np.where(answered, predicted, 0)]
        except NoProbabilities:
            column = cell.frame.get(PROBABILITY, pd.Series(np.nan, index=cell.frame.index))
            p = np.asarray(column.to_numpy(dtype=float, na_value=np.nan), dtype=np.float64)
        p = np.where(answered, p, np.nan)
        event, y = GIVEN, (gold == predicted).astype(float)
    if not np.isfinite(p).any():
        task = cell.keys["task"]
        raise NoProbabilities(
            f"judgments: no answer to {task} has a label with its probability; collect log-probabilities."
        )
    outside = np.isfinite(p) & ((p < 0) | (p > 1))
    if outside.any():
        raise InputError(f"judgments: a probability is {p[outside][0]:g}; it must be between 0 and 1.")
    return event, p, y


def logits(p: Floats) -> Floats:
    """Logits of probabilities, those of 0 and 1 kept finite."""
    inside = np.clip(p, SMALLEST, 1 - SMALLEST)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def drawn_metrics(p: Floats, y: Floats, cluster: Codes, weights: Floats, n_bins: int) -> dict[str, Floats]:
    """All metrics under B weightings of clusters, each of shape (B,)."""
    x = logits(p)
    ones = np.ones((len(x), 1))
    both_columns, none = np.column_stack([ones, x]), np.zeros(len(x))
    line = [logistic(both_columns, none, y, weights[:1, cluster])]
    large = [logistic(ones, x, y, weights[:1, cluster])]
    for at in range(1, len(weights), CHUNK):
        each = weights[at : at + CHUNK, cluster]
        line.append(logistic(both_columns, none, y, each, line[0][0]))
        large.append(logistic(ones, x, y, each, large[0][0]))
    bin_of = equal_bins(p, n_bins)
    member = (bin_of[:, None] == np.arange(bin_of.max() + 1)).astype(float)
    parts = np.hstack([member, member * p[:, None], member * y[:, None]])
    draws = ItemWeightings(weights, cluster)
    bin_metrics = binned(*np.split(draws.totals(parts), 3, axis=1))
    coefficients = np.vstack(line)
    return {
        **bin_metrics,
        "calibration_intercept": coefficients[:, 0],
        "calibration_slope": coefficients[:, 1],
        "calibration_in_the_large": np.vstack(large)[:, 0],
        "brier": draws.mean((p - y) ** 2),
    }


def _rows(
    keys: Mapping[str, str], p: Floats, y: Floats, frame: pd.DataFrame, n_bins: int, plan: IntervalPlan
) -> Iterator[dict[str, Any]]:
    codes, n_clusters = cluster_codes(frame, plan.cluster)
    replicates = drawn_metrics(p, y, codes, plan.weights(n_clusters), n_bins)
    counts = counts_of(frame, np.ones(len(frame), dtype=bool), codes)
    for metric in CALIBRATION_METRICS:
        bounds = bounds_of(replicates[metric.name], plan.alpha, is_share=False, n_clusters=n_clusters)
        if metric.is_reflected:
            lower, upper = 2 * bounds.estimate - bounds.upper, 2 * bounds.estimate - bounds.lower
            lower, upper = max(lower, metric.least), max(upper, metric.least)
            without = upper - lower <= SAME  # both limits are the least possible value
            bounds = (
                StatisticInterval.none(bounds.estimate)
                if without
                else replace(bounds, lower=lower, upper=upper)
            )
        yield metric_row(keys, MISSING, metric.name, bounds, counts)


def _notes_on_judge(p: Floats, y: Floats, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What restricts the numbers of a judge."""
    extreme = int(((p < SMALLEST) | (p > 1 - SMALLEST)).sum())
    if extreme:
        yield (
            f"{extreme:,} of {len(p):,} probabilities are closer to 0 or 1 than {SMALLEST:g} and "
            "are set to this distance in calibration slope and intercept."
        )
    if any(row["metric"] == "calibration_slope" and np.isnan(row["estimate"]) for row in rows):
        why = (
            "all outcomes are equal"
            if len(set(y)) < 2
            else "the probabilities separate outcomes, or are equal"
        )
        yield f"no calibration slope, since {why}."


def _tables(
    p: Floats, y: Floats, frame: pd.DataFrame, n_bins: int, plan: IntervalPlan
) -> dict[str, pd.DataFrame]:
    """The isotonic curve with its consistency band, the bins, and the Brier score without bins."""
    values, fitted = isotonic(p, y)
    curve = pd.DataFrame({"probability": values, "estimate": fitted, "lower": np.nan, "upper": np.nan})
    if plan.draws:
        unit = np.unique(frame["unit"].to_numpy(), return_inverse=True)[1]
        band = consistency_band(p, unit, plan.alpha, min(plan.draws, BAND_DRAWS), plan.seed)
        curve["lower"], curve["upper"] = band
    codes = equal_bins(p, n_bins)
    counts = np.bincount(codes)
    share = np.bincount(codes, y) / counts
    lower, upper = wilson(share, counts.astype(float), plan.alpha)
    bins = pd.DataFrame({"probability": np.bincount(codes, p) / counts, "estimate": share})
    miscalibration, discrimination = corp(p, y)
    parts = {
        "brier": float(np.mean((p - y) ** 2)),
        "miscalibration": miscalibration,
        "discrimination": discrimination,
        "uncertainty": float(y.mean() * (1 - y.mean())),
    }
    return {
        "curve": curve,
        "bins": bins.assign(lower=lower, upper=upper, n_answers=counts),
        "corp": pd.DataFrame([parts]),
    }


@analysis("benchmark", order=35, when=lambda answered: answered.is_scored)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    judgments = answered.unperturbed
    if PROBABILITY in judgments and judgments[PROBABILITY].notna().any():
        scored = answered.plain_scores
        yield AnalysisStep(
            "calibration", "Calibration of probabilities", lambda: calibration(scored, **options)
        )
