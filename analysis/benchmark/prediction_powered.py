"""Scores of judges against people's labels, from few of these and the labels of a model to all units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.schema import SAMPLING

from ..correction.debias import FOLDS, Tuning
from ..correction.items import (
    Estimated,
    Numbers,
    Rows,
    alone,
    are_unlike,
    beside,
    bounded,
    correct,
    doubt_of,
    gains_of,
    moved_note,
    refuse_chosen,
)
from ..correction.sources import AT_MOST_HALF, CLUSTERS, PPI, Tuned, low_correlation, sampling_weights
from ..frames.passport import coverage_notes, metrics_asked
from ..frames.vocabulary import CORRECTED_BY_MODELS, ONLY, PEOPLE_ONLY
from ..numerics.bootstrap import unequal_clusters
from ..numerics.intervals import CORRELATION, SHARE, cut
from ..numerics.panel import Clusters
from ..numerics.types import Codes, Floats
from ..results import Result
from .data.scoring import Cell, Scored, class_codes
from .intervals import Plan, cluster_codes
from .metrics import cluster_margins, is_share, margins_of, metric
from .parse_status import outcome

ITEM = ["item_id", "line"]  # what people label
UNIT = [*ITEM, "sample"]
_STEP = 1e-3  # of the smallest share of units with the same labels, for slopes


class ModelLabels(Tuned, total=False):
    """Labels of models for more units than people labelled, for ``correct="ppi"``."""

    # the same judgments as in `scored`, scored against the labels of a model instead of people's, or of
    # several models by name. One without a name is called "model"
    model: Scored | Mapping[str, Scored]


LABELS = (*Tuned.__annotations__, "model")


def corrected_scores(
    scored: Scored,
    by: Sequence[str],
    metrics: Callable[[Cell], Sequence[str]],
    missing: Sequence[str],
    plan: Plan,
    options: ModelLabels,
) -> Result:
    """Score every judge against people's labels of few units, corrected by models' labels of more."""
    given = options.get("model")
    if not given:
        raise InputError(
            "correct='ppi' needs the labels of a model for more units; give model=score(judgments, labels)."
        )
    models = {"model": given} if isinstance(given, Scored) else dict(given)
    correction = _Correction(
        models,
        options.get("tuning", "coefficient"),
        options.get("folds", FOLDS),
        plan.seed,
        plan.alpha,
        plan.cluster,
    )
    tables: list[pd.DataFrame] = []
    notes: list[str] = []
    clusters, moved, weighted = [], 0, False
    for human, others in _cells(scored, by, models):
        names = _names(metrics(human))
        for policy in missing:
            units = _units(human, others, scored, policy, plan.cluster)
            if units is None:
                notes.append(
                    f"No score of {human.keys['judge']}: a correction needs two clusters of units that "
                    "people and every model labelled, and two of others that every model labelled."
                )
                continue
            table, unlike = _table(units, names, policy, correction)
            tables.append(table)
            clusters.append(np.full(len(table), len(np.unique(units.cluster[: units.n]))))
            notes += unequal_clusters(units.cluster[: units.n], f"{human.keys['judge']}, labelled items: ")
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
        "tuning": correction.tuning,
        "folds": correction.folds,
        "seed": plan.seed,
        "alpha": plan.alpha,
        "cluster": plan.cluster,
        "weighted": weighted,
    }
    told = (*scored.notes, *dict.fromkeys(notes), AT_MOST_HALF)
    return Result(frame, "prediction_powered_items", told, settings)


@dataclass(frozen=True)
class _Correction:
    """How scores are corrected."""

    models: Mapping[str, Scored]
    tuning: Tuning
    folds: int
    seed: int
    alpha: float
    cluster: str


@dataclass(frozen=True)
class _Units:
    """n answers of a judge to units that people labelled above N others; J models labelled both."""

    cell: Cell
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
            (own[: self.n] >= 0).any() and (own[self.n :] >= 0).any() for own in self.of_models
        )


def _cells(
    scored: Scored, by: Sequence[str], models: Mapping[str, Scored]
) -> Iterator[tuple[Cell, list[Cell]]]:
    """Each judge's answers scored against people and against models, with the same codes of labels."""
    others = [
        {tuple(cell.keys.values()): cell for cell in one.cells(by) if cell.keys["judge"]}
        for one in models.values()
    ]
    for one in models.values():
        if dict(one.covers) != dict(scored.covers):
            raise InputError("model: its classes cover other labels; give score() the same covers for both.")
    for cell in scored.cells(by):
        own = [found.get(tuple(cell.keys.values())) for found in others]
        if any(found is None for found in own):
            lacking = [name for name, found in zip(models, own, strict=True) if found is None]
            raise InputError(
                f"model: no unit of judge '{cell.keys['judge']}' has a label by {listed(lacking)}; give the "
                "same judgments, scored against the model's labels of the same label_set."
            )
        every = [cell, *(found for found in own if found is not None)]
        classes = tuple(dict.fromkeys(name for one in every for name in one.classes))
        levels = tuple(dict.fromkeys(name for one in every for name in one.levels))
        made = [_recoded(one, classes, levels, scored.covers) for one in every]
        yield made[0], made[1:]


def _recoded(
    cell: Cell, classes: tuple[str, ...], levels: tuple[str, ...], covers: Mapping[str, tuple[str, ...]]
) -> Cell:
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


def _names(asked: Sequence[str]) -> list[str]:
    """Metrics that depend on labels, as all but the rate of missing answers do."""
    names = [name for name in asked if name != "missing_rate"]
    if not names:
        raise InputError("metrics: none depends on labels; name another than missing_rate, or omit correct.")
    return names


def _units(human: Cell, models: Sequence[Cell], scored: Scored, policy: str, cluster: str) -> _Units | None:
    """Units of a judge under a policy for its missing answers; None where they are too few."""
    frames = []
    for cell in (human, *models):
        answers, kept = outcome(cell.frame, cell.classes, policy, scored.policy)
        frames.append(cell.frame.assign(answer=answers)[kept])
    people = frames[0]
    keys = [pd.MultiIndex.from_frame(frame[UNIT].astype(object)) for frame in frames]
    weight = sampling_weights(people[SAMPLING]) if SAMPLING in people else None
    every = pd.concat(frames[1:])
    every_keys = keys[1].append(list(keys[2:])) if len(keys) > 2 else keys[1]
    first = ~every_keys.duplicated()
    if weight is None:
        first &= ~every_keys.isin(keys[0])
    rest, rest_keys = every[first], every_keys[first]
    both = keys[0].append(rest_keys)
    labels = []
    for key, frame in zip(keys[1:], frames[1:], strict=True):
        at = key.get_indexer(both)
        level = frame["level"].to_numpy(dtype=np.int64)
        labels.append(np.where(at >= 0, level[at] if len(level) else -1, -1))
    columns = list(
        dict.fromkeys([cluster, "item_id", *(["base_item_id"] if "base_item_id" in people else [])])
    )
    codes, _ = cluster_codes(pd.concat([people[columns], rest[columns]]), cluster)
    probability = pd.concat([people, rest]).get("probability", pd.Series(np.nan, range(len(both))))
    found = _Units(
        human,
        len(people),
        people["level"].to_numpy(dtype=np.int64),
        labels,
        np.concatenate([people["answer"], rest["answer"]]).astype(np.int64),
        np.concatenate([np.ones(len(people)) if weight is None else weight, np.ones(len(rest))]),
        codes,
        weight is not None,
        doubt_of(probability),
        (len(people[ITEM].drop_duplicates()), len(rest[ITEM].drop_duplicates())),
    )
    if not found.is_enough():
        return None
    if not found.whole:
        rows = np.arange(len(found.cluster))
        judge = str(human.keys["judge"])
        refuse_chosen(judge, found.doubt, found.cluster, rows[: found.n], rows[found.n :], "units")
    return found


def _table(
    units: _Units, names: Sequence[str], policy: str, correction: _Correction
) -> tuple[pd.DataFrame, bool]:
    """Metrics by people, corrected and by each model; whether labelled units are unlike others."""
    n = units.n
    first, rest = slice(None, n), slice(n, None)
    human = _estimated(names, units, units.level, first)
    labelled = [_estimated(names, units, own[first], first) for own in units.of_models]
    other = [_estimated(names, units, own[rest], rest) for own in units.of_models]
    clusters = Clusters(units.cluster, int(units.cluster.max()) + 1)
    found = correct(
        Rows(human, labelled, other, {correction.cluster: clusters}),
        correction.tuning,
        correction.folds,
        correction.seed,
    )
    numbers = {PEOPLE_ONLY: found.human, CORRECTED_BY_MODELS: found.corrected}
    whole = rest if units.whole else slice(None)
    for name, own in zip(correction.models, units.of_models, strict=True):
        numbers[f"{name}{ONLY}"] = alone(
            _estimated(names, units, own[whole], whole, False), units.cluster[whole]
        )
    sources = {name: _bounded(one, names, correction.alpha) for name, one in numbers.items()}
    table = beside(
        pd.DataFrame({**units.cell.keys, "missing": policy, "metric": list(names)}),
        sources,
        gains_of(found, list(correction.models)),
        *units.counts,
    )
    unlike = not units.whole and are_unlike(labelled, other, units.cluster[:n], units.cluster[n:])
    return table, unlike


def _coverage(units: _Units, names: Sequence[str], alpha: float) -> list[str]:
    """State which intervals were measured to cover too rarely with labelled units like these."""
    cell, n = units.cell, units.n
    gold = np.bincount(cell.class_of[units.level], minlength=len(cell.classes)).astype(float)
    asked = metrics_asked(names, "ppi: ", cell.classes, gold, units.cluster[:n])
    return coverage_notes("scores corrected by ppi", asked, alpha)


def _bounded(numbers: Numbers, names: Sequence[str], alpha: float) -> pd.DataFrame:
    """Standard errors and intervals of metrics, which end where their values end."""
    table = bounded(numbers, alpha, share=np.array([is_share(name) for name in names]))
    correlation = np.array(names) == "mcc"
    for support, kept in ((CORRELATION, correlation), (SHARE, ~correlation)):
        lower, upper, estimate = table.loc[kept, ["lower", "upper", "estimate"]].to_numpy(dtype=float).T
        table.loc[kept, "lower"], table.loc[kept, "upper"] = cut(lower, upper, estimate, support)
    return table


def _estimated(
    names: Sequence[str], units: _Units, level: Codes, rows: slice, weighted: bool = True
) -> Estimated:
    """Metrics of some rows, and their slopes in the weight of each row, by which it adds to their errors."""
    # Rows with the same label and answer have the same slope. Metrics do not depend on the sum of all
    # weights, so that slopes, weighted, add up to zero.
    cell, predicted = units.cell, units.predicted[rows]
    weight = units.weight[rows] if weighted else np.ones(len(predicted))
    used = level >= 0
    total = weight[used].sum()
    width = len(cell.classes) + 2
    kinds, kind = np.unique(level[used] * width + predicted[used] + 1, return_inverse=True)
    of_level, of_answer = np.divmod(kinds, width)
    each = cluster_margins(
        of_level, of_answer - 1, cell.class_of, len(cell.classes), np.arange(len(kinds)), len(kinds)
    )
    share = np.bincount(kind, weights=weight[used]) / total
    step = _STEP * share.min()
    margins = [margins_of(share @ each + sign * step * each, cell.class_of) for sign in (1.0, -1.0)]
    exact = margins_of((share @ each)[None, :], cell.class_of)
    influence = np.zeros((len(level), len(names)))
    estimate = np.full(len(names), np.nan)
    for column, name in enumerate(names):
        estimate[column] = metric(name, exact, cell.classes, cell.levels)[0]
        up, down = (metric(name, one, cell.classes, cell.levels) for one in margins)
        slope = (up - down) / (2 * step)
        influence[used, column] = slope[kind] * weight[used] / total
    return Estimated(estimate, influence, used)
