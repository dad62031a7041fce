"""Metrics of answers that stay in their engine, from counts of labels by cluster.

What a table of metrics needs of each judge are margins of its confusion matrix, in the sample and in each
draw of clusters. The engine counts answers by cluster, gold label and answer; these counts are weighed as
they come, by Poisson numbers from a hash of each cluster's name, and nothing of a cluster is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, listed, no_column

from ...frames.stored import fetched
from ...frames.unit_batches import UNITS_AT_A_TIME, unit_batches
from ...frames.vocabulary import BASELINE, MAJORITY, RANDOM
from ...numerics.linear import one_thread
from ...numerics.metrics.label_metrics import (
    accuracy,
    find_metric,
    metric_of,
    metric_values,
    random_expectation,
)
from ...numerics.metrics.margins import Margins, cluster_margins, margins_of
from ...numerics.poisson import poisson_weights
from ...numerics.types import Codes, Floats
from ..intervals import IntervalPlan, StatisticInterval, bounds_of, metric_row
from ..parse_status import MISSING, NO_ANSWER, STUDY, WRONG
from .scoring import TaskCell, class_codes
from .stored_answers import StoredScored, text

if TYPE_CHECKING:
    from ibis.expr.types import Column, Table

CLUSTER, AS_STUDY, N = "conjury_cluster", "conjury_study", "conjury_n"
LEFT_OUT = -2  # code of an answer that a study counts as missing
Rows = list[dict[str, Any]]
AskedOf = Callable[[TaskCell], Sequence[str]]


@dataclass
class MarginSums:
    """Sums of the margins of clusters, and of how many clusters these rest on."""

    sums: Floats  # (1 + B, W): of the sample, then of B draws
    # (W + 2 K + 1,): clusters that each margin rests on, then those with a unit of each class, with a unit of
    # another class, and with a unit at all
    clusters: Codes

    @classmethod
    def empty(cls, cell: TaskCell, draws: int) -> MarginSums:
        """Before any cluster is read."""
        width, n_classes = 3 * len(cell.levels) + len(cell.classes) + 1, len(cell.classes)
        return cls(np.zeros((1 + draws, width)), np.zeros(width + 2 * n_classes + 1, dtype=np.int64))

    def add(self, margins: Floats, weights: Floats, cell: TaskCell) -> None:
        """Add the margins of U clusters, shape (U, W), with their weights, shape (U, B)."""
        self.sums[0] += margins.sum(axis=0)
        self.sums[1:] += weights.T @ margins
        gold = margins[:, : len(cell.levels)]
        of_class = gold @ np.eye(len(cell.classes))[cell.class_of]
        total = gold.sum(axis=1, keepdims=True)
        present = np.hstack([margins, of_class, total - of_class, total]) > 0
        self.clusters += present.sum(axis=0)

    def margins(self, cell: TaskCell) -> Margins:
        """Margins of the sample and of the draws."""
        return margins_of(self.sums, cell.class_of)

    def rests_on(self, name: str, cell: TaskCell) -> int:
        """Clusters with units in the denominator of a metric, as `rests_on` has it."""
        metric, place = find_metric(name, cell.classes, cell.levels)
        k, width = len(cell.classes), self.sums.shape[1]
        starts = {"label": 0, "answers": 3 * len(cell.levels), "class": width, "other classes": width + k}
        start = starts.get(metric.denominator)
        return int(self.clusters[-1 if start is None else start + place])


@dataclass(frozen=True)
class ClassCounts:
    """How much the numbers of K classes rest on; every array has shape (K,)."""

    units: Codes  # units whose gold label it is
    gold: Codes  # clusters with such units
    given: Codes  # clusters with an answer that gives it


@dataclass
class _Judge:
    """One cell, with what its policies for missing answers count."""

    cell: TaskCell
    counts: dict[str, dict[str, int]]  # by policy: see `intervals.counts_of`
    drawn: dict[str, MarginSums]  # by policy, where they differ from "wrong"

    def drawn_under(self, policy: str) -> MarginSums:
        """Sums under a policy; policies are alike where every answer is there."""
        return self.drawn.get(policy, self.drawn[WRONG])


def scores_of_stored(
    scored: StoredScored, by: Sequence[str], asked_of: AskedOf, policies: Sequence[str], plan: IntervalPlan
) -> tuple[Rows, Rows]:
    """Rows of the table of scores, and of that of accuracies beyond the most frequent label."""
    table = _prepared(scored, by, plan.cluster)
    names = ["judge", "judge_kind", "prompt", "task", *by]
    judges = _judges(scored, table, names, policies, plan.draws)
    _add_margins(table, names, judges, plan)
    rows: Rows = []
    over: Rows = []
    for judge in judges.values():
        metric_names = asked_of(judge.cell)
        rows += _judge_rows(judge, metric_names, policies, plan.alpha)
        over += _over_majority(judge, policies, plan.alpha) if "accuracy" in metric_names else []
    if WRONG in policies:
        names = ["prompt", "task", *by]
        units = _units(table, names)
        tasks = _judges(scored, units, names, (WRONG,), plan.draws)
        _add_margins(units, names, tasks, plan, _majority(units, names, tasks))
        for judge in tasks.values():
            rows += _baseline_rows(judge, asked_of(judge.cell), plan.alpha)
    return rows, over


def _prepared(scored: StoredScored, by: Sequence[str], cluster: str) -> Table:
    """Answers with their strata and clusters as text, and with codes under the study's policy."""
    import ibis

    answers = scored.answers
    for name in (*by, cluster):
        if name not in answers.columns:
            raise no_column("scored judgments", name, answers.columns)
    keys = {name: text(answers[name]) for name in by}
    answers = answers.mutate(
        **{
            AS_STUDY: _as_study(scored, answers),
            CLUSTER: text(answers[cluster]).fill_null(""),
            **keys,
        }
    )
    rows = answers.filter([answers[name].notnull() for name in by] or [ibis.literal(True)])
    columns = ["judge", "judge_kind", "prompt", "task", *by, "item_id", "level", "predicted"]
    return rows.select(*dict.fromkeys([*columns, AS_STUDY, CLUSTER]))


def _as_study(scored: StoredScored, answers: Table) -> Column:
    """Codes of answers where missing ones count as the study has it."""
    import ibis

    task, status = answers["task"], answers["status"]
    cases = [(answers["predicted"] != NO_ANSWER, answers["predicted"])]
    for task_name, names in scored.classes.items():
        place = {name: code for code, name in enumerate(names)}
        for name, meaning in sorted(scored.policy.items(), key=lambda rule: ": " not in rule[0]):
            judge, _, of_status = name.rpartition(": ")
            about = (status == of_status) & (answers["judge"] == judge if judge else True)
            code = LEFT_OUT if meaning == MISSING else place.get(meaning, NO_ANSWER)
            cases.append(((task == task_name) & about, code))
    return ibis.cases(*cases, else_=LEFT_OUT).cast("int64")


def _judges(
    scored: StoredScored, table: Table, names: Sequence[str], policies: Sequence[str], draws: int
) -> dict[tuple[str, ...], _Judge]:
    """Cells by their keys, in alphabetical order, with the counts under each policy."""
    masks = {WRONG: table["level"].notnull(), MISSING: table["predicted"] != NO_ANSWER}
    masks[STUDY] = table[AS_STUDY] != LEFT_OUT
    aggregates: dict[str, Any] = {"unanswered": (table["predicted"] == NO_ANSWER).sum()}
    for policy in policies:
        flags = masks[policy]
        aggregates |= {f"n_answers_{policy}": flags.cast("int64").sum()}
        aggregates |= {f"n_items_{policy}": table["item_id"].nunique(where=flags)}
        aggregates |= {f"n_clusters_{policy}": table[CLUSTER].nunique(where=flags)}
    counts = fetched(table.group_by(list(names)).agg(**aggregates)).sort_values(list(names))
    if counts.empty:
        raise InputError(
            f"scored judgments: no answer has all of {listed(names)}; name columns that are filled."
        )
    judges = {}
    for row in counts.to_dict("records"):
        keys = {"judge": "", "judge_kind": ""} | {name: str(row[name]) for name in names}
        classes, levels = scored.classes[keys["task"]], scored.levels[keys["task"]]
        cell = TaskCell(keys, pd.DataFrame(), classes, levels, class_codes(classes, levels, scored.covers))
        further_policies = policies if row["unanswered"] else ()
        sums = {policy: MarginSums.empty(cell, draws) for policy in dict.fromkeys([WRONG, *further_policies])}
        counted = {policy: _counts(row, policy) for policy in policies}
        judges[tuple(str(row[name]) for name in names)] = _Judge(cell, counted, sums)
    return judges


def _counts(row: Mapping[Any, Any], policy: str) -> dict[str, int]:
    n_items = int(row[f"n_items_{policy}"])
    n_answers, n_clusters = int(row[f"n_answers_{policy}"]), int(row[f"n_clusters_{policy}"])
    return {"n_answers": n_answers, "n_units": n_items, "n_items": n_items, "n_clusters": n_clusters}


def _by_key(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Codes]]:
    """Rows of each cell of a frame, by its keys."""
    cells: Any = frame.groupby(list(names), sort=True)
    for key, rows in cells.indices.items():
        yield tuple(map(str, key)), rows


def _add_margins(
    table: Table,
    names: Sequence[str],
    judges: Mapping[tuple[str, ...], _Judge],
    plan: IntervalPlan,
    always: Mapping[tuple[str, ...], int] | None = None,
) -> None:
    """Add up the margins of all clusters; with ``always`` each cell gives this answer."""
    for rows, cluster, weights in _blocks(table, names, plan):
        level, predicted, study, n = (
            rows[name].to_numpy(dtype=np.int64) for name in ("level", "predicted", AS_STUDY, N)
        )
        for key, at in _by_key(rows, names):
            judge = judges[key]
            present, code = np.unique(cluster[at], return_inverse=True)
            weighed_by = weights if len(present) == len(weights) else weights[present]
            if always is not None:
                predicted[at] = always[key]
            for policy, draws in judge.drawn.items():
                answers, mask = _outcome(policy, predicted[at], study[at])
                margins = cluster_margins(
                    level[at][mask],
                    answers[mask],
                    judge.cell.class_of,
                    len(judge.cell.classes),
                    code[mask],
                    len(present),
                    n[at][mask].astype(float),
                )
                with one_thread():
                    draws.add(margins, weighed_by, judge.cell)


def _outcome(policy: str, predicted: Codes, study: Codes) -> tuple[Codes, NDArray[np.bool_]]:
    """Codes of answers under a policy for missing ones, and which it keeps, as `parse_status.outcome`."""
    if policy == STUDY:
        return study, study != LEFT_OUT
    return predicted, (predicted != NO_ANSWER) | (policy == WRONG)


def _blocks(
    table: Table, names: Sequence[str], plan: IntervalPlan
) -> Iterator[tuple[pd.DataFrame, Codes, Floats]]:
    """Counts of answers of some clusters, the cluster of each, (n,), and weights of clusters, (U, B)."""
    by = [*names, "level", "predicted", AS_STUDY]
    if not plan.draws:
        counts = fetched(table.group_by(by).agg(**{N: table.count()}))
        yield counts, np.zeros(len(counts), dtype=np.int64), np.zeros((1, 0))
        return
    counted = table.group_by([CLUSTER, *by]).agg(**{N: table.count()})
    for batch in unit_batches(counted, [CLUSTER], plan.seed):
        for first in range(0, len(batch.states), UNITS_AT_A_TIME):
            starts = batch.starts[first : first + UNITS_AT_A_TIME + 1]
            rows = batch.rows.slice(int(starts[0]), int(starts[-1] - starts[0])).to_pandas()
            cluster = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            states = batch.states[first : first + UNITS_AT_A_TIME, 0]
            yield rows, cluster, poisson_weights(states, plan.draws).astype(float)


def _judge_rows(judge: _Judge, metric_names: Sequence[str], policies: Sequence[str], alpha: float) -> Rows:
    rows, everything = [], judge.drawn[WRONG]
    margins_of_all = everything.margins(judge.cell)
    for policy in policies:
        under = judge.drawn_under(policy)
        margins = under.margins(judge.cell)
        for name in metric_names:
            draws, of = (everything, margins_of_all) if name == "missing_rate" else (under, margins)
            values = metric_values(name, of, judge.cell.classes, judge.cell.levels)
            n = draws.rests_on(name, judge.cell)
            bounds = bounds_of(values, alpha, is_share=metric_of(name).is_share, n_clusters=n)
            rows.append(metric_row(judge.cell.keys, policy, name, bounds, judge.counts[policy]))
    return rows


def _over_majority(judge: _Judge, policies: Sequence[str], alpha: float) -> Rows:
    """Accuracy of a judge minus that of the most frequent label, on the same units."""
    rows = []
    for policy in policies:
        draws = judge.drawn_under(policy)
        margins = draws.margins(judge.cell)
        always = int(margins.class_gold[0].argmax())
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = accuracy(margins) - margins.class_gold[:, always] / margins.n
        bounds = bounds_of(gain, alpha, is_share=False, n_clusters=int(draws.clusters[-1]))
        rows.append(metric_row(judge.cell.keys, policy, "accuracy", bounds, judge.counts[policy]))
    return rows


def _units(table: Table, names: Sequence[str]) -> Table:
    """Units of all judges of a prompt and task, each once."""
    units = table.group_by([*names, "item_id", "level"]).agg(**{CLUSTER: table[CLUSTER].min()})
    return units.mutate(**{"predicted": 0, AS_STUDY: 0})


def _majority(
    units: Table, names: Sequence[str], tasks: Mapping[tuple[str, ...], _Judge]
) -> dict[tuple[str, ...], int]:
    """Most frequent class of the units of each cell; the first of several."""
    counts = fetched(units.group_by([*names, "level"]).agg(**{N: units.count()}))
    majority = {}
    for key, at in _by_key(counts, names):
        cell, rows = tasks[key].cell, counts.iloc[at]
        of_class = np.bincount(cell.class_of[rows["level"].to_numpy()], rows[N], len(cell.classes))
        majority[key] = int(of_class.argmax())
    return majority


def _baseline_rows(group: _Judge, metric_names: Sequence[str], alpha: float) -> Rows:
    rows, cell, draws = [], group.cell, group.drawn[WRONG]
    margins = draws.margins(cell)
    for name in metric_names:
        values, n = metric_values(name, margins, cell.classes, cell.levels), draws.rests_on(name, cell)
        metric = metric_of(name)
        expected = random_expectation(name, margins.class_gold[0], cell.levels, cell.classes)
        always = bounds_of(values, alpha, is_share=metric.is_share, n_clusters=n)
        bounds = {
            MAJORITY: StatisticInterval.none(always.estimate) if metric.is_fixed else always,
            RANDOM: StatisticInterval.none(expected),
        }
        for judge, limits in bounds.items():
            keys = {**cell.keys, "judge": judge, "judge_kind": BASELINE}
            rows.append(metric_row(keys, WRONG, name, limits, group.counts[WRONG]))
    return rows


def labels_of_stored(
    scored: StoredScored, by: Sequence[str], plan: IntervalPlan
) -> Iterator[tuple[TaskCell, Margins, ClassCounts]]:
    """Margins of each cell in the sample and in draws, and the units and clusters of each class."""
    table = _prepared(scored, by, plan.cluster)
    names = ["judge", "judge_kind", "prompt", "task", *by]
    judges = _judges(scored, table, names, (WRONG,), plan.draws)
    _add_margins(table, names, judges, plan)
    counts = fetched(table.group_by([*names, "level"]).agg(**{N: table["item_id"].nunique()}))
    for key, at in _by_key(counts, names):
        judge, rows = judges[key], counts.iloc[at]
        cell, draws = judge.cell, judge.drawn[WRONG]
        n_levels, n_classes, width = len(cell.levels), len(cell.classes), draws.sums.shape[1]
        units = np.bincount(cell.class_of[rows["level"].to_numpy()], rows[N], n_classes).astype(np.int64)
        votes = draws.clusters[3 * n_levels : 3 * n_levels + n_classes]
        yield cell, draws.margins(cell), ClassCounts(units, draws.clusters[width : width + n_classes], votes)


def confusion_of_stored(scored: StoredScored, by: Sequence[str]) -> list[tuple[TaskCell, Codes]]:
    """Answers of each cell by gold label and answer, shape (L, K + 2): the classes, another label, none."""
    table = _prepared(scored, by, "item_id")
    names = ["judge", "judge_kind", "prompt", "task", *by]
    judges = _judges(scored, table, names, (WRONG,), 0)
    counts = fetched(table.group_by([*names, "level", "predicted"]).agg(**{N: table.count()}))
    tables = []
    for key, at in _by_key(counts, names):
        cell, rows = judges[key].cell, counts.iloc[at]
        n = np.zeros((len(cell.levels), len(cell.classes) + 2), dtype=np.int64)
        # The code of no answer, -1, is the last column.
        n[rows["level"], rows["predicted"]] = rows[N]
        tables.append((cell, n))
    return tables
