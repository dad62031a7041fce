"""Log-loss and AUC of judges that give probabilities. A label alone has neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.frames import any_frame

from ...frames.notes import note_under
from ...frames.passport import coverage_notes, situation_of
from ...frames.vocabulary import BASELINE, MAJORITY, RANDOM
from ...numerics.bootstrap import ItemWeightings
from ...numerics.metrics.probability_metrics import AUC, LOG_LOSS, ProbabilityMetric
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

if TYPE_CHECKING:
    from ..data.label_answers import LabelAnswers

SMALLEST = 1e-15  # probabilities are no smaller than this for the log-loss
CHUNK = 200  # draws at a time, so that memory stays flat
PROBABILITY = "probability"
SUM_TOLERANCE = 1e-3  # probabilities may have been rounded to a few digits


class NoProbabilities(InputError):
    """Labels without the probabilities of all classes."""


@any_frame
def probabilities(
    scored: Scored,
    *,
    by: Sequence[str] = (),
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
) -> Result:
    """Log-loss and area under the ROC curve, from probabilities of the labels.

    Answers without probabilities, and judges that give none, are excluded and named. For more than two
    classes the AUC is the mean of each class against the others, over the classes that gold holds.

    Parameters
    ----------
    scored : Scored
        Of judgments with ``probability`` (of the label that is given; enough for two classes) or with
        ``probability_X`` for every class X.
    by, draws, seed, alpha, cluster
        As in `scores`.

    Returns
    -------
    Result
        Kind "probabilities": the columns of `scores`, with the metrics ``log_loss`` and ``auc``. The
        baselines give every unit the shares of the classes in gold, or each class the same probability.

    Raises
    ------
    InputError
        Where no judge's labels have probabilities: the area under one point is no AUC.

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j2", "j3"],
    ...     "dimension": "harm", "value": ["safe", "safe", "harmful"], "probability": [0.9, 0.6, 0.8]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2", "j3"], "label_set": "harm",
    ...     "label": ["safe", "harmful", "harmful"]})
    >>> table = probabilities(score(judged, gold), draws=0).frame
    >>> table.loc[table["judge"] == "gpt"].set_index("metric")["estimate"].round(3).to_dict()
    {'log_loss': 0.415, 'auc': 1.0}
    """
    plan = IntervalPlan(draws, seed, alpha, cluster)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    refused: list[InputError] = []
    covered: list[str] = []
    for cell in scored.cells(by):
        about = {name: value for name, value in cell.keys.items() if name != "judge_kind"}
        try:
            probability = class_probabilities(cell)
            mask = np.asarray(np.isfinite(probability).all(axis=1))
            _refuse_none(mask, cell.keys["task"])
        except NoProbabilities as error:
            refused.append(error)
            notes.append(note_under(about, "excluded, since no answer has probabilities of all classes."))
            continue
        if not mask.all():
            without = f"{int((~mask).sum()):,} of {len(probability):,} answers have no probabilities"
            notes.append(note_under(about, f"{without} and are excluded."))
        rows += _rows(cell.keys, probability[mask], cell.frame.loc[mask], plan)
        gold = np.bincount(cell.codes("gold")[mask], minlength=len(cell.classes)).astype(float)
        covered += measured_notes("probabilities", (LOG_LOSS, AUC), gold, cell.frame.loc[mask], plan)
    if not rows:
        raise refused[0]
    for cell in scored.cells(by, judges=False):
        rows += _baselines(cell, plan)
    frame = pd.DataFrame(rows)
    settings = {"by": list(by), "missing": [MISSING], **vars(plan)}
    return Result(
        frame,
        "probabilities",
        (
            *scored.notes,
            *notes,
            *pooled_notes(scored, by),
            *interval_notes(frame, plan, scored),
            *dict.fromkeys(covered),
        ),
        settings,
    )


def measured_notes(
    method: str, metrics: Iterable[ProbabilityMetric], counts: Floats, frame: pd.DataFrame, plan: IntervalPlan
) -> list[str]:
    """State which intervals were measured to cover too rarely, from answers and the counts of classes."""
    if not plan.draws:
        return []
    situation = situation_of(cluster_codes(frame, plan.cluster)[0], counts)
    return coverage_notes(method, [(metric.name, metric.name, situation) for metric in metrics], plan.alpha)


def class_probabilities(cell: TaskCell) -> Floats:
    """Probability of each class by answer, shape (n, K); NaN where it is not known."""
    frame, k = cell.frame, len(cell.classes)
    columns = [f"{PROBABILITY}_{name}" for name in cell.classes]
    task = cell.keys["task"]
    if all(name in frame for name in columns) and frame[columns].notna().all(axis=1).any():
        probability = frame[columns].to_numpy(dtype=float)
        bad = np.isfinite(probability).all(axis=1) & (np.abs(probability.sum(axis=1) - 1) > SUM_TOLERANCE)
        if bad.any():
            total = probability[bad][0].sum()
            raise InputError(
                f"judgments: the probabilities of {task} sum to {total:.4g} in a row; they must sum to 1."
            )
        return probability
    if PROBABILITY not in frame or frame[PROBABILITY].isna().all():
        raise NoProbabilities(
            f"judgments: the labels of {task} have no probabilities, and a label alone has neither log-loss "
            f"nor AUC; collect log-probabilities, or give columns {listed(columns)}."
        )
    if k != 2:
        raise NoProbabilities(
            f"judgments: {task} has {k} classes and the probability of the label that was given only; give "
            f"columns {listed(columns)}."
        )
    predicted = cell.codes("predicted")
    p = frame[PROBABILITY].to_numpy(dtype=float, na_value=np.nan)
    p = np.where((predicted == NO_ANSWER) | (predicted >= k), np.nan, p)
    first = np.where(predicted == 0, p, 1 - p)
    return np.stack([first, 1 - first], axis=1)


def _refuse_none(mask: NDArray[np.bool_], task: str) -> None:
    if not mask.any():
        raise NoProbabilities(
            f"judgments: no answer to {task} has a label with its probability; collect log-probabilities."
        )


def unit_log_loss(probability: Floats, gold: Codes) -> Floats:
    """Negative logarithm of the probability of the gold class, shape (n,)."""
    p_gold = probability[np.arange(len(gold)), gold] / probability.sum(axis=1)
    return np.asarray(-np.log(np.clip(p_gold, SMALLEST, 1.0)))


def weighted_auc(score: Floats, positive: NDArray[np.bool_], weights: Floats, cluster: Codes) -> Floats:
    """Area under the ROC curve under B weightings, shape (B,); ties count half."""
    order = np.argsort(score, kind="stable")
    start = np.flatnonzero(np.r_[True, np.diff(score[order]) > 0]) if len(score) else np.zeros(0, int)
    auc = np.full(len(weights), np.nan)
    for at in range(0, len(weights) if len(score) else 0, CHUNK):
        chunk = weights[at : at + CHUNK, cluster[order]]
        above = np.add.reduceat(chunk * positive[order], start, axis=1)
        below = np.add.reduceat(chunk * ~positive[order], start, axis=1)
        won = (above * (np.cumsum(below, axis=1) - below / 2)).sum(axis=1)
        pairs = above.sum(axis=1) * below.sum(axis=1)
        auc[at : at + CHUNK] = np.divide(won, pairs, out=np.full(len(won), np.nan), where=pairs > 0)
    return auc


def mean_auc(probability: Floats, gold: Codes, weights: Floats, cluster: Codes) -> Floats:
    """AUC for two classes, else its mean over the classes in gold against the others, shape (B,)."""
    k = probability.shape[1]
    codes = [1] if k == 2 else np.unique(gold).tolist()
    each = np.stack([weighted_auc(probability[:, code], gold == code, weights, cluster) for code in codes])
    is_finite = np.isfinite(each)
    n = is_finite.sum(axis=0)
    return np.where(n > 0, np.where(is_finite, each, 0).sum(axis=0) / np.maximum(n, 1), np.nan)


def _rows(
    keys: Mapping[str, str], probability: Floats, frame: pd.DataFrame, plan: IntervalPlan
) -> Iterator[dict[str, Any]]:
    gold = frame["gold"].to_numpy(dtype=np.int64)
    codes, n_clusters = cluster_codes(frame, plan.cluster)
    weights = plan.weights(n_clusters)
    losses = ItemWeightings(weights, codes).mean(unit_log_loss(probability, gold))
    replicates = {LOG_LOSS: losses, AUC: mean_auc(probability, gold, weights, codes)}
    counts = counts_of(frame, np.ones(len(frame), dtype=bool), codes)
    for metric, values in replicates.items():
        bounds = bounds_of(values, plan.alpha, is_share=False, n_clusters=n_clusters)
        yield metric_row(keys, MISSING, metric.name, bounds, counts)


def _baselines(cell: TaskCell, plan: IntervalPlan) -> Iterator[dict[str, Any]]:
    """The shares of the classes in gold for every unit, and the same probability for each class."""
    units = cell.frame.drop_duplicates("unit")
    gold = units["gold"].to_numpy(dtype=np.int64)
    k = len(cell.classes)
    shares = np.bincount(gold, minlength=k) / len(gold)
    keys = {**cell.keys, "judge_kind": BASELINE}
    yield from _rows({**keys, "judge": MAJORITY}, np.tile(shares, (len(gold), 1)), units, plan)
    codes, _ = cluster_codes(units, plan.cluster)
    counts = counts_of(units, np.ones(len(units), dtype=bool), codes)
    for metric, value in {LOG_LOSS: float(np.log(k)), AUC: 0.5}.items():
        yield metric_row(
            {**keys, "judge": RANDOM}, MISSING, metric.name, StatisticInterval.none(value), counts
        )


@analysis("benchmark", order=30, when=lambda answered: answered.is_scored)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    judgments = answered.unperturbed
    if "probability" in judgments and judgments["probability"].notna().any():
        scored = answered.plain_scores
        yield AnalysisStep(
            "probabilities", "Scores of probabilities", lambda: probabilities(scored, **options)
        )
