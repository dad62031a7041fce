"""Scores of judges against people's labels, from few of these and the labels of a model to all units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.schema import SAMPLING

from ..correction.correction_methods import PPI, PredictThenDebias
from ..correction.item_corrections import (
    EstimateRows,
    EstimateVariances,
    InfluenceEstimates,
    answers_differ,
    clustered_numbers,
    correct,
    doubt_of,
    gains_of,
    interval_table,
    moved_note,
    refuse_chosen,
    stack_sources,
)
from ..correction.sources import (
    AT_MOST_HALF,
    CLUSTERS,
    low_correlation,
    sampling_weights,
)
from ..frames.notes import Note
from ..frames.passport import coverage_notes, quantities_of_metrics
from ..numerics.bootstrap import unequal_clusters
from ..numerics.intervals import CORRELATION, SHARE, cut
from ..numerics.metrics.label_metrics import metric_of, metric_values
from ..numerics.metrics.margins import cluster_margins, margins_of
from ..numerics.rating_panel import RowClusters
from ..numerics.types import Codes, Floats
from ..results import Result
from .data.scoring import Scored, TaskCell, class_codes
from .intervals import IntervalPlan, cluster_codes
from .parse_status import outcome

ITEM = ["item_id", "line"]  # what people label
UNIT = [*ITEM, "sample"]
_STEP = 1e-3  # of the smallest share of units with the same labels, for slopes


def corrected_scores(
    scored: Scored,
    by: Sequence[str],
    metrics: Callable[[TaskCell], Sequence[str]],
    missing: Sequence[str],
    plan: IntervalPlan,
    method: PredictThenDebias,
) -> Result:
    """Score every judge against people's labels of few units, corrected by models' labels of more."""
    models = {"model": method.model} if isinstance(method.model, Scored) else method.model
    if isinstance(models, str) or not models:
        raise InputError(
            "correct='ppi' needs the labels of a model for more units; give model=score(judgments, labels)."
        )
    if method.calibration:
        raise InputError("Scores of labels have no monotone map of a model's labels; omit calibration.")
    tables: list[pd.DataFrame] = []
    notes: list[str] = []
    clusters, moved, weighted = [], 0, False
    for human, model_cells in _cells(scored, by, models):
        names = _label_metrics(metrics(human))
        for policy in missing:
            units = _units(human, model_cells, scored, policy, plan.cluster)
            if units is None:
                notes.append(
                    Note.of(
                        "No score of {judge}: a correction needs two clusters of units that people and every "
                        "model labelled, and two of others that every model labelled.",
                        judge=human.keys["judge"],
                    )
                )
                continue
            table, unlike = _score_table(units, names, policy, list(models), method, plan)
            tables.append(table)
            clusters.append(np.full(len(table), len(np.unique(units.cluster[: units.n]))))
            notes += [
                Note.of("{judge}, labelled items: {note}", judge=human.keys["judge"], note=note)
                for note in unequal_clusters(units.cluster[: units.n])
            ]
            notes += _coverage(units, names, plan.alpha)
            moved += unlike
            weighted |= units.whole
    if not tables:
        raise InputError(
            f"{' '.join(notes[:1])} More units must be labelled by people or by the model.".strip()
        )
    frame = pd.concat(tables, ignore_index=True)
    notes += low_correlation(frame["rho"].to_numpy(dtype=float), np.concatenate(clusters), CLUSTERS)
    notes += moved_note(moved, len(tables))
    settings = {
        "correct": PPI,
        "by": list(by),
        "missing": list(missing),
        "model": list(models),
        "tuning": method.tuning,
        "folds": method.folds,
        "seed": method.seed,
        "alpha": plan.alpha,
        "cluster": plan.cluster,
        "weighted": weighted,
    }
    all_notes = (*scored.notes, *dict.fromkeys(notes), AT_MOST_HALF)
    return Result(frame, "prediction_powered_items", all_notes, settings)


@dataclass(frozen=True)
class _Units:
    """n answers of a judge to units that people labelled above N others; J models labelled both."""

    cell: TaskCell
    n: int
    level: Codes  # (n,): labels of people
    of_models: Sequence[Codes]  # J, (n + N,): labels of models, -1 without
    predicted: Codes  # (n + N,)
    weight: Floats  # (n + N,)
    cluster: Codes  # (n + N,)
    whole: bool  # whether the N answers include the n
    doubt: Floats  # (n + N,): sqrt(p (1 - p)) of the judge's probability p, NaN where there is none
    counts: tuple[int, int]  # labelled and other items or lines, each once however often it was answered

    def is_enough(self) -> bool:
        """Whether there are clusters on both sides, with labels of every model."""
        clusters = [len(np.unique(part)) for part in (self.cluster[: self.n], self.cluster[self.n :])]
        return min(clusters) > 1 and all(
            (labels[: self.n] >= 0).any() and (labels[self.n :] >= 0).any() for labels in self.of_models
        )


def _cells(
    scored: Scored, by: Sequence[str], models: Mapping[str, Scored]
) -> Iterator[tuple[TaskCell, list[TaskCell]]]:
    """Each judge's answers scored against people and against models, with the same codes of labels."""
    lookups = [
        {tuple(cell.keys.values()): cell for cell in model.cells(by) if cell.keys["judge"]}
        for model in models.values()
    ]
    for model in models.values():
        if dict(model.covers) != dict(scored.covers):
            raise InputError("model: its classes cover other labels; give score() the same covers for both.")
    for cell in scored.cells(by):
        matches = [lookup.get(tuple(cell.keys.values())) for lookup in lookups]
        if any(match is None for match in matches):
            lacking = [name for name, match in zip(models, matches, strict=True) if match is None]
            raise InputError(
                f"model: no unit of judge '{cell.keys['judge']}' has a label by {listed(lacking)}; give the "
                "same judgments, scored against the model's labels of the same label_set."
            )
        every = [cell, *(match for match in matches if match is not None)]
        classes = tuple(dict.fromkeys(name for source in every for name in source.classes))
        levels = tuple(dict.fromkeys(name for source in every for name in source.levels))
        cells = [_recoded(source, classes, levels, scored.covers) for source in every]
        yield cells[0], cells[1:]


def _recoded(
    cell: TaskCell, classes: tuple[str, ...], levels: tuple[str, ...], covers: Mapping[str, tuple[str, ...]]
) -> TaskCell:
    """The cell with the codes of other classes and labels, which include its own."""
    predicted, level = cell.codes("predicted"), cell.codes("level")
    if len(classes) > len(cell.classes) and (predicted == len(cell.classes)).any():
        raise InputError(
            "model: its classes differ from those of scored; give score() the same classes for both."
        )
    class_code = np.array([*(classes.index(name) for name in cell.classes), len(classes)], dtype=np.int64)
    level_code = np.array([levels.index(name) for name in cell.levels], dtype=np.int64)
    frame = cell.frame.assign(
        predicted=np.where(predicted < 0, predicted, class_code[predicted]), level=level_code[level]
    )
    return replace(
        cell, frame=frame, classes=classes, levels=levels, class_of=class_codes(classes, levels, covers)
    )


def _label_metrics(metrics: Sequence[str]) -> list[str]:
    """Metrics that depend on labels, as all but the rate of missing answers do."""
    names = [name for name in metrics if name != "missing_rate"]
    if not names:
        raise InputError("metrics: none depends on labels; name another than missing_rate, or omit correct.")
    return names


def _units(
    human: TaskCell, models: Sequence[TaskCell], scored: Scored, policy: str, cluster: str
) -> _Units | None:
    """Units of a judge under a policy for its missing answers; None where they are too few."""
    frames = []
    for cell in (human, *models):
        answers, mask = outcome(cell.frame, cell.classes, policy, scored.policy)
        frames.append(cell.frame.assign(answer=answers)[mask])
    people = frames[0]
    keys = [pd.MultiIndex.from_frame(frame[UNIT].astype(object)) for frame in frames]
    weight = sampling_weights(people[SAMPLING]) if SAMPLING in people else None
    every = pd.concat(frames[1:])
    every_keys = keys[1].append(list(keys[2:])) if len(keys) > 2 else keys[1]
    first = ~every_keys.duplicated()
    if weight is None:
        first &= ~every_keys.isin(keys[0])
    model_rows, model_keys = every[first], every_keys[first]
    all_keys = keys[0].append(model_keys)
    labels = []
    for key, frame in zip(keys[1:], frames[1:], strict=True):
        at = key.get_indexer(all_keys)
        level = frame["level"].to_numpy(dtype=np.int64)
        labels.append(np.where(at >= 0, level[at] if len(level) else -1, -1))
    columns = list(
        dict.fromkeys([cluster, "item_id", *(["base_item_id"] if "base_item_id" in people else [])])
    )
    codes, _ = cluster_codes(pd.concat([people[columns], model_rows[columns]]), cluster)
    probability = pd.concat([people, model_rows]).get("probability", pd.Series(np.nan, range(len(all_keys))))
    units = _Units(
        human,
        len(people),
        people["level"].to_numpy(dtype=np.int64),
        labels,
        np.concatenate([people["answer"], model_rows["answer"]]).astype(np.int64),
        np.concatenate([np.ones(len(people)) if weight is None else weight, np.ones(len(model_rows))]),
        codes,
        weight is not None,
        doubt_of(probability),
        (len(people[ITEM].drop_duplicates()), len(model_rows[ITEM].drop_duplicates())),
    )
    if not units.is_enough():
        return None
    if not units.whole:
        rows = np.arange(len(units.cluster))
        judge = str(human.keys["judge"])
        refuse_chosen(judge, units.doubt, units.cluster, rows[: units.n], rows[units.n :], "units")
    return units


def _score_table(
    units: _Units,
    names: Sequence[str],
    policy: str,
    models: Sequence[str],
    method: PredictThenDebias,
    plan: IntervalPlan,
) -> tuple[pd.DataFrame, bool]:
    """Metrics by people, corrected and by each model; whether labelled units are unlike others."""
    first, tail = slice(None, units.n), slice(units.n, None)
    human = _estimated(names, units, units.level, first)
    labelled = [_estimated(names, units, labels[first], first) for labels in units.of_models]
    tail_estimates = [_estimated(names, units, labels[tail], tail) for labels in units.of_models]
    clusters = RowClusters(units.cluster, int(units.cluster.max()) + 1)
    rows = EstimateRows(human, labelled, tail_estimates, {plan.cluster: clusters})
    result = correct(rows, method)
    every = tail if units.whole else slice(None)
    alone = {
        name: clustered_numbers(
            _estimated(names, units, labels[every], every, weighted=False), units.cluster[every]
        )
        for name, labels in zip(models, units.of_models, strict=True)
    }
    sources = {
        name: _bounded(numbers, names, plan.alpha) for name, numbers in result.by_source(alone).items()
    }
    keys = pd.DataFrame({**units.cell.keys, "missing": policy, "metric": list(names)})
    table = stack_sources(keys, sources, gains_of(result, models), *units.counts)
    return table, not units.whole and answers_differ(rows)


def _coverage(units: _Units, names: Sequence[str], alpha: float) -> list[str]:
    """State which intervals were measured to cover too rarely with labelled units like these."""
    cell, n = units.cell, units.n
    gold = np.bincount(cell.class_of[units.level], minlength=len(cell.classes)).astype(float)
    queries = quantities_of_metrics(names, "ppi: ", cell.classes, gold, units.cluster[:n])
    return coverage_notes("scores corrected by ppi", queries, alpha)


def _bounded(numbers: EstimateVariances, names: Sequence[str], alpha: float) -> pd.DataFrame:
    """Standard errors and intervals of metrics, which end where their values end."""
    metrics = [metric_of(name) for name in names]
    table = interval_table(numbers, alpha, share=np.array([metric.is_share for metric in metrics]))
    correlation = np.array([metric.least < 0 for metric in metrics])
    for support, mask in ((CORRELATION, correlation), (SHARE, ~correlation)):
        lower, upper, estimate = table.loc[mask, ["lower", "upper", "estimate"]].to_numpy(dtype=float).T
        table.loc[mask, "lower"], table.loc[mask, "upper"] = cut(lower, upper, estimate, support)
    return table


def _estimated(
    names: Sequence[str], units: _Units, level: Codes, rows: slice, weighted: bool = True
) -> InfluenceEstimates:
    """Metrics of some rows, and their slopes in the weight of each row, by which it adds to their errors."""
    # Rows with the same label and answer have the same slope. Metrics do not depend on the sum of all
    # weights, so that slopes, weighted, add up to zero.
    cell, predicted = units.cell, units.predicted[rows]
    weight = units.weight[rows] if weighted else np.ones(len(predicted))
    mask = level >= 0
    total = weight[mask].sum()
    width = len(cell.classes) + 2
    kinds, kind = np.unique(level[mask] * width + predicted[mask] + 1, return_inverse=True)
    of_level, of_answer = np.divmod(kinds, width)
    each = cluster_margins(
        of_level, of_answer - 1, cell.class_of, len(cell.classes), np.arange(len(kinds)), len(kinds)
    )
    share = np.bincount(kind, weights=weight[mask]) / total
    step = _STEP * share.min()
    margins = [margins_of(share @ each + sign * step * each, cell.class_of) for sign in (1.0, -1.0)]
    exact = margins_of((share @ each)[None, :], cell.class_of)
    influence = np.zeros((len(level), len(names)))
    estimate = np.full(len(names), np.nan)
    for column, name in enumerate(names):
        estimate[column] = metric_values(name, exact, cell.classes, cell.levels)[0]
        up, down = (metric_values(name, margin, cell.classes, cell.levels) for margin in margins)
        slope = (up - down) / (2 * step)
        influence[mask, column] = slope[kind] * weight[mask] / total
    return InfluenceEstimates(estimate, influence, mask)
