"""What is called what: confusion matrices, and how often each label is given and right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.tables.frames import any_frame

from ..figures.labels import task_in_words
from ..frames.notes import Note
from ..frames.vocabulary import FEWEST_GOLD
from ..numerics.intervals import inference
from ..numerics.metrics.label_metrics import OF_A_CLASS, class_f1, class_precision, class_recall
from ..numerics.metrics.margins import LabelledAnswers, Margins, cluster_margins
from ..numerics.significance import insert_adjusted_p_values
from ..numerics.types import Codes
from ..results import AnalysisStep, Result, analysis
from .data.scoring import Scored, TaskCell
from .data.stored_answers import StoredScored
from .data.stored_scores import ClassCounts, confusion_of_stored, labels_of_stored
from .intervals import (
    BOOTSTRAP,
    IntervalPlan,
    StatisticInterval,
    bounds_of,
    bounds_of_metrics,
    cluster_codes,
    describe_draws,
    n_distinct,
    notes_of_sizes,
    pooled_notes,
)

if TYPE_CHECKING:
    from .data.label_answers import LabelAnswers

NONE_GIVEN, OTHER_LABEL = "no answer", "other label"


@any_frame
def confusion(scored: Scored, *, by: Sequence[str] = ()) -> Result:
    """Count the answers to the units of each gold label.

    Parameters
    ----------
    scored : Scored
        Where a class covers several gold labels, each has a row of its own. Samples are added up.
    by : sequence of str
        Columns of ``scored.frame`` to count by.

    Returns
    -------
    Result
        Kind "confusion": ``judge, judge_kind, prompt, task, [by], gold, predicted, n, share``, one row a
        pair, also those that never occur. ``share`` is that of the units of the gold label; it is missing
        for labels that do not occur. The last answers are "other label" (none of the classes) and "no
        answer".

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j2"],
    ...     "dimension": "harm", "value": ["safe", None], "status": ["ok", "refused"]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2"], "label_set": "harm", "label": ["safe", "safe"]})
    >>> confusion(score(judged, gold)).frame[["gold", "predicted", "share"]].to_numpy().tolist()
    [['safe', 'safe', 0.5], ['safe', 'other label', 0.0], ['safe', 'no answer', 0.5]]
    """
    tables = []
    for cell, n in _count_answers(scored, by):
        answers = (*cell.classes, OTHER_LABEL, NONE_GIVEN)
        total = n.sum(axis=1, keepdims=True)
        share = np.divide(n, total, out=np.full(n.shape, np.nan), where=total > 0)
        tables.append(
            pd.DataFrame(
                {
                    **cell.keys,
                    "gold": np.repeat(cell.levels, len(answers)),
                    "predicted": np.tile(answers, len(cell.levels)),
                    "n": n.ravel(),
                    "share": share.ravel(),
                }
            )
        )
    notes = (*scored.notes, *pooled_notes(scored, by))
    return Result(pd.concat(tables, ignore_index=True), "confusion", notes, {"by": list(by)})


def _count_answers(scored: Scored, by: Sequence[str]) -> Iterator[tuple[TaskCell, Codes]]:
    """Answers of each cell by gold label and answer, shape (L, K + 2): the classes, another label, none."""
    if isinstance(scored, StoredScored):
        yield from confusion_of_stored(scored, by)
        return
    for cell in scored.cells(by):
        n = np.zeros((len(cell.levels), len(cell.classes) + 2), dtype=np.int64)
        # The code of no answer, -1, is the last column.
        np.add.at(n, (cell.codes("level"), cell.codes("predicted")), 1)
        yield cell, n


@any_frame
def by_label(
    scored: Scored,
    *,
    by: Sequence[str] = (),
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
    interval: Literal["bootstrap"] | None = None,
) -> Result:
    """Precision, recall and F1 of each class, and the number of times it is given per time that it is gold.

    Missing answers are wrong.

    Parameters
    ----------
    scored, by, draws, seed, alpha, cluster, interval
        As in `scores`.

    Returns
    -------
    Result
        Kind "by_label": ``judge, judge_kind, prompt, task, [by], label, n_gold`` (units whose gold label it
        is), ``n_answers`` (answers to them, of all samples), ``n_predicted`` (answers with the label), then
        ``precision, recall, f1, ratio`` (``n_predicted`` by ``n_answers``), each also with ``_std_error,
        _lower, _upper, _interval``; these intervals are each for itself. Precision of a class that is never
        given, and recall, F1 and the ratio of one that is never gold, are missing. ``p`` is that of
        ``n_predicted`` minus ``n_answers``, by its bootstrap error; ``p_adjusted`` is Holm's over all rows of
        a task.

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j2"],
    ...     "dimension": "harm", "value": ["safe", "safe"]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2"], "label_set": "harm", "label": ["safe", "harmful"]})
    >>> by_label(score(judged, gold), draws=0).frame[["label", "recall", "ratio"]].to_numpy().tolist()
    [['harmful', 0.0, 0.0], ['safe', 1.0, 2.0]]
    """
    plan = IntervalPlan(
        draws, seed, alpha, cluster, BOOTSTRAP if isinstance(scored, StoredScored) else interval
    )
    rows: list[dict[str, Any]] = []
    for cell, margins, counts in _margins(scored, by, plan):
        of_shares = {} if plan.resamples else _share_bounds(cell, plan)
        gold, n_predicted = margins.class_gold, margins.given[:, :-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            replicates = {
                "precision": np.where(n_predicted > 0, class_precision(margins), np.nan),
                "recall": np.where(gold > 0, class_recall(margins), np.nan),
                "f1": np.where(gold > 0, class_f1(margins), np.nan),
                "ratio": np.where(gold > 0, n_predicted / gold, np.nan),
            }
        surplus = n_predicted - gold
        spread = surplus[1:].std(axis=0, ddof=1) if draws > 1 else np.full(len(cell.classes), np.nan)
        p = inference(surplus[0], np.where(spread > 0, spread, np.nan), alpha).p
        for code, label in enumerate(cell.classes):
            row: dict[str, Any] = {
                "label": label,
                "n_gold": int(counts.units[code]),
                "n_answers": int(gold[0, code]),
                "n_predicted": int(n_predicted[0, code]),
            }
            for name, values in replicates.items():
                n_clusters = int((counts.given if name == "precision" else counts.gold)[code])
                is_share = name in OF_A_CLASS and OF_A_CLASS[name].is_share
                bounds = bounds_of(values[:, code], alpha, is_share=is_share, n_clusters=n_clusters)
                row |= _prefixed_columns(name, of_shares.get(f"{name}_{label}", bounds))
            rows.append({**cell.keys, **row, "p": float(p[code])})
    frame = insert_adjusted_p_values(pd.DataFrame(rows), ["task"], "holm")
    drawn_by = Note.of(
        "Intervals are percentiles of {draws}; shares of 0 and 1 have Wilson's."
        if plan.resamples
        else "Intervals of ratios are percentiles of {draws}; those of shares and F1 are as in scores.",
        draws=describe_draws(draws, cluster),
    )
    notes = (
        *scored.notes,
        *pooled_notes(scored, by),
        *([drawn_by] if draws else []),
        *notes_of_sizes(scored, plan),
    )
    return Result(frame, "by_label", notes, {"by": list(by), **vars(plan)})


def _share_bounds(cell: TaskCell, plan: IntervalPlan) -> dict[str, StatisticInterval]:
    """Bounds of precision, recall and F1 of each class, as in `scores`."""
    if not plan.draws:
        return {}
    codes, n_clusters = cluster_codes(cell.frame, plan.cluster)
    gold = cell.codes("gold")
    of = LabelledAnswers(
        gold, cell.codes("predicted"), codes, n_clusters, np.arange(len(cell.classes)), cell.classes,
        cell.classes,
    )  # fmt: skip
    names = [f"{kind}_{name}" for kind in ("precision", "recall", "f1") for name in cell.classes]
    return bounds_of_metrics(names, of, plan.alpha)


def _margins(
    scored: Scored, by: Sequence[str], plan: IntervalPlan
) -> Iterator[tuple[TaskCell, Margins, ClassCounts]]:
    """Margins of each cell in the sample and in draws, and the units and clusters of each class."""
    if isinstance(scored, StoredScored):
        yield from labels_of_stored(scored, by, plan)
        return
    for cell in scored.cells(by):
        codes, n_clusters = cluster_codes(cell.frame, plan.cluster)
        gold, predicted, units = cell.codes("gold"), cell.codes("predicted"), cell.codes("unit")
        level, n_classes = cell.codes("level"), len(cell.classes)
        sums = cluster_margins(level, predicted, cell.class_of, n_classes, codes, n_clusters)
        margins = plan.margins(sums, cell.class_of)
        counts = [
            np.array([n_distinct(of[where == code]) for code in range(len(cell.classes))])
            for of, where in ((units, gold), (codes, gold), (codes, predicted))
        ]
        yield cell, margins, ClassCounts(*counts)


def use_of_labels(frame: pd.DataFrame, alpha: float) -> Codes:
    """1 for labels that are given too often, -1 for those given too rarely, 0 for others, shape (n,)."""
    n_predicted, gold = (frame[name].to_numpy(dtype=np.int64) for name in ("n_predicted", "n_answers"))
    clear = (frame["p_adjusted"].to_numpy(dtype=float) < alpha) | (n_predicted == 0)
    enough = frame["n_gold"].to_numpy(dtype=np.int64) >= FEWEST_GOLD
    direction: Codes = np.where(clear & enough, np.sign(n_predicted - gold), 0).astype(np.int64)
    return direction


def _prefixed_columns(name: str, bounds: StatisticInterval) -> dict[str, Any]:
    """The columns of one number among several of a row."""
    columns = {f"{name}_{part}": value for part, value in vars(bounds).items() if part != "estimate"}
    return {name: bounds.estimate, **columns}


@analysis("benchmark", order=80, when=lambda answered: answered.is_scored)
def _steps(answered: LabelAnswers, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    for task in answered.plain_scores.tasks:
        scored = answered.plain_scores.of(task=task)
        title = task_in_words(answered.study, task).lower()
        yield AnalysisStep(f"confusion_{task}", f"Confusion matrices: {title}", partial(_confusion, scored))
        call = partial(by_label, scored, **options)
        yield AnalysisStep(f"by_label_{task}", f"Labels given too often: {title}", call)


def _confusion(scored: Scored) -> Result:
    """Confusion matrices, with the gold labels that count as each class among their settings."""
    result = confusion(scored)
    covers = {name: list(labels) for name, labels in scored.covers.items()}
    return replace(result, settings={**result.settings, "covers": covers})
