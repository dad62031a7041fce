"""Estimates from tables that stay in their engine: cells by one query, errors of clusters by another.

Rows that agree in cell, outcome, weight and clusters are counted, and the native engine takes these counts,
where they are few. Else the first query sums weights and outcomes by cell, which gives the coefficients; the
second joins the fitted means by cell, sums weighted residuals times design by cluster, and returns the sums
over clusters of the products of these scores, so that nothing of a single cluster leaves the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.linalg import block_diag

from conjury.inference.errors import InputError

from ...frames.cells import Cells, build_cells
from ...frames.stored import (
    OUTCOME,
    ROWS,
    WEIGHT,
    Stored,
    fetched,
    number_of,
    stored_chance,
    without_stored_repeats,
)
from ...frames.variables import as_category
from ...numerics.linear import Regression, one_thread
from ...numerics.sandwich import sandwich
from ..estimands import PLANS, check_cells, prepared, unchecked_cells
from ..estimates import Estimates, Solution
from ..plan import Plan
from ..request import MEANS, Request
from . import native
from .few_clusters import FEW_CLUSTERS, Level, warn_of_few_clusters, warn_of_levels
from .solution import assemble

if TYPE_CHECKING:
    from ibis.expr.types import Column, Table

MOST_ROWS = 5_000_000  # combinations of cell, outcome, weight and clusters that are taken into memory
MOST_NESTED_ROWS = MOST_ROWS  # the same with one of several cluster columns
MOST_PRODUCTS = 2_000  # sums of products of scores in one query: those of 62 coefficients
MOST_COEFFICIENTS = 250
SUMMED = ("survey", "CR0", "CR1", "CR1S")
KEY = "conjury_key"
BY_COUNTS, BY_MOMENTS, BY_SCORES = (
    "counts of equal rows",
    "moments by cell",
    "scores of clusters, summed in the engine",
)


def estimate_stored(request: Request, stored: Stored) -> Estimates:
    """Estimate what a request asks for, by queries."""
    if request.engine != "native":
        raise InputError(f"Engine {request.engine!r} needs rows in memory; read them, or leave engine out.")
    request, stored = _checked(request, stored)
    facts = _facts(request, stored)
    if facts.n_rows > MOST_ROWS and _combinations(request, stored) > MOST_ROWS:
        return _by_scores(request, stored, facts)
    plan = PLANS[request.verb](request, _counted(request, stored))
    warn_of_few_clusters(plan)
    return _computed(assemble(plan, native.solve(plan)), BY_COUNTS)


def count_stored(request: Request, stored: Stored) -> Cells:
    """Cells of a request that counts rows, or adds their weights."""
    names = _cell_columns(request)
    stored.require([*names, *([request.weights] if request.weights is not None else [])])
    stored = without_stored_repeats(stored, [*names, request.weights])
    table = stored.table
    weight = 1.0 if request.weights is None else number_of(table, request.weights)
    rows = table.mutate(**{WEIGHT: weight})
    summed = rows.mutate(used=rows[WEIGHT] > 0).group_by([*names, "used"])
    frame = stored.fetch(summed.agg(**{ROWS: lambda t: t.count(), WEIGHT: lambda t: t[WEIGHT].sum()}))
    frame = frame.assign(**{name: as_category(frame, name) for name in request.by})
    return replace(build_cells(frame, None, names, weights=WEIGHT), counts=frame[ROWS].to_numpy())


def _computed(made: Estimates, how: str) -> Estimates:
    extra = made.provenance.extra | {"computed_from": how}
    return replace(made, provenance=replace(made.provenance, extra=extra))


def _checked(request: Request, stored: Stored) -> tuple[Request, Stored]:
    """The request with its groups taken apart and its null value, and the rows that it is about."""
    formula = request.formula
    named = [formula.outcome, *formula.features, *request.by, *request.clusters]
    named += [name for name in (request.weights, request.strata) if name is not None]
    stored.require(named)
    stored = without_stored_repeats(stored, named)
    request = prepared(request)
    if request.verb in MEANS and request.h0 is None:
        chance = stored_chance(stored, formula.outcome, request.clusters)
        if request.family != "gaussian" and chance:
            chance = float(np.log(chance / (1 - chance)))
        request = replace(request, h0=chance)
    return request, stored


@dataclass(frozen=True)
class Facts:
    """Rows of a table, and how many clusters each cluster column has."""

    n_rows: int
    n_clusters: Mapping[str, int]


def _facts(request: Request, stored: Stored) -> Facts:
    """Count rows and clusters, and refuse units and weights that cannot be."""
    table = stored.table
    wanted: dict[str, Any] = {"rows": table.count()}
    for number, name in enumerate(request.clusters):
        wanted |= {f"n{number}": table[name].nunique(), f"missing{number}": table[name].isnull().sum()}
    outcome = number_of(table, request.formula.outcome)
    wanted["infinite"] = outcome.isinf().sum()
    if request.weights is not None:
        weight = number_of(table, request.weights)
        wanted |= {"unweighted": weight.isnull().sum(), "least": weight.min(), "largest": weight.max()}
    found = fetched(table.aggregate(**wanted)).fillna(0).iloc[0]
    if not found["rows"]:
        raise InputError("The data have no rows; give a table with one row per profile.")
    for number, name in enumerate(request.clusters):
        if found[f"missing{number}"]:
            raise InputError(
                f"Column {name!r} identifies units but is empty in {int(found[f'missing{number}']):,} rows; "
                "fill it or drop those rows."
            )
        if found[f"n{number}"] < 2:
            raise InputError(
                f"Column {name!r} contains a single cluster; errors need at least two, so name another id."
            )
    if found["infinite"]:
        raise InputError(f"Column {request.formula.outcome!r} is infinite in some rows; give finite numbers.")
    if request.weights is not None:
        if found["unweighted"]:
            raise InputError(
                f"Weights {request.weights!r} are missing in {int(found['unweighted']):,} rows; fill them or "
                "drop those rows."
            )
        if found["least"] < 0 or found["largest"] <= 0:
            raise InputError(f"Weights {request.weights!r} must be zero or more, and not all zero.")
    counts = {name: int(found[f"n{number}"]) for number, name in enumerate(request.clusters)}
    return Facts(int(found["rows"]), counts)


def _cell_columns(request: Request) -> list[str]:
    return list(dict.fromkeys([*request.formula.features, *request.by]))


def _prepared_rows(request: Request, stored: Stored) -> Table:
    """The table with outcome and weight as numbers, in columns of their own."""
    table = stored.table
    weight = None if request.weights is None else number_of(table, request.weights)
    outcome = number_of(table, request.formula.outcome)
    return table.mutate(**{OUTCOME: outcome, WEIGHT: 1.0 if weight is None else weight})


def _unit_columns(request: Request) -> list[str]:
    return [*request.clusters, *([request.strata] if request.strata is not None else [])]


def _combinations(request: Request, stored: Stored) -> int:
    """About how many combinations of cell, outcome, weight and units occur."""
    rows = _prepared_rows(request, stored)
    names = [*_cell_columns(request), *_unit_columns(request), OUTCOME, WEIGHT]
    texts = [rows[name].cast("string").fill_null("") for name in dict.fromkeys(names)]
    return int(reduce(lambda one, two: one + "\x1f" + two, texts).approx_nunique().to_pyarrow().as_py())


def _counted(request: Request, stored: Stored) -> Cells:
    """Cells of rows that stand for all that agree in cell, outcome, weight and units."""
    names = list(dict.fromkeys([*_cell_columns(request), *_unit_columns(request)]))
    rows = _prepared_rows(request, stored)
    frame = stored.fetch(rows.group_by([*names, OUTCOME, WEIGHT]).agg(**{ROWS: rows.count()}))
    counts = frame[ROWS].to_numpy()
    frame[WEIGHT] *= counts
    return _cells(request, frame, counts)


def _cells(
    request: Request, frame: pd.DataFrame, counts: np.ndarray, limits: tuple[float, float] | None = None
) -> Cells:
    formula = replace(request.formula, outcome=OUTCOME)
    cells = unchecked_cells(replace(request, formula=formula, weights=WEIGHT), frame)
    cells = replace(cells, counts=counts, limits=limits)
    check_cells(request, cells)
    return cells


def _summed(request: Request, stored: Stored) -> Cells:
    """Cells of few rows each: one has the unanswered rows, the others the answered ones.

    Of rows with weights one stands for all, with their mean. Without weights two stand for half of them each,
    a standard deviation below and above the mean, which leaves sums of squares as they are.
    """
    names = _cell_columns(request)
    rows = _prepared_rows(request, stored)
    answered = rows[OUTCOME].notnull() & (rows[WEIGHT] > 0)
    rows = rows.mutate(answered=answered, part=rows[WEIGHT] * rows[OUTCOME])
    summed = rows.group_by([*names, "answered"]).agg(
        **{ROWS: lambda t: t.count(), WEIGHT: lambda t: t[WEIGHT].sum()},
        total=lambda t: t.part.sum(),
        spread=lambda t: t[OUTCOME].var(how="pop"),
        least=lambda t: t[OUTCOME].min(),
        largest=lambda t: t[OUTCOME].max(),
    )
    frame = stored.fetch(summed)
    limits = (float(frame["least"].min()), float(frame["largest"].max()))
    with np.errstate(invalid="ignore"):
        mean = frame["total"].to_numpy(dtype=float) / frame[WEIGHT].to_numpy(dtype=float)
    frame[OUTCOME] = np.where(frame["answered"], np.nan_to_num(mean), np.nan)
    if request.weights is None:
        half = np.sqrt(frame.pop("spread").fillna(0.0).clip(lower=0.0).to_numpy(dtype=float))
        frame[[ROWS, WEIGHT]] = frame[[ROWS, WEIGHT]] / 2
        frame = pd.concat([frame.assign(**{OUTCOME: frame[OUTCOME] + sign * half}) for sign in (-1, 1)])
    counts = frame[ROWS].to_numpy(dtype=float)
    return _cells(replace(request, clusters=(), strata=None), frame, counts, limits)


def _by_scores(request: Request, stored: Stored, facts: Facts) -> Estimates:
    if not request.clusters and request.weights is None:
        plan = PLANS[request.verb](request, _summed(request, stored))
        return _computed(assemble(plan, native.solve(plan)), BY_MOMENTS)
    if request.vcov not in SUMMED or request.strata is not None or not request.clusters:
        what = f"vcov={request.vcov!r}"
        if request.strata is not None or not request.clusters:
            what = "strata" if request.clusters else "weights without clusters"
        raise InputError(
            f"Errors with {what} need all combinations of cell, outcome, weight and cluster in memory, and "
            f"there are more than {MOST_ROWS:,}; give clusters and vcov='CR1', or a sample of the rows."
        )
    plan = PLANS[request.verb](request, _summed(request, stored))
    if plan.contrasts.shape[1] > MOST_COEFFICIENTS:
        raise InputError(
            f"{plan.contrasts.shape[1]} coefficients at once are too many for a query of all their products; "
            f"estimate the groups of {', '.join(request.by) or 'features'} in turn."
        )
    with one_thread():
        fits = native.fits_of(plan)
    scores = _Scores(plan, fits, _prepared_rows(request, stored))
    bread = block_diag(*[fit.bread for fit in fits])
    total, df = np.zeros_like(bread), np.full(len(bread), np.inf)
    for sign, columns in _intersections(request.clusters):
        sums = scores.by_clusters(columns)
        counts = sums.with_rows if request.vcov == "survey" else sums.with_answers
        total += sign * sandwich(bread, sums.meat, native.scale_of(plan, fits, request.vcov, counts))
        if len(columns) == 1:
            df = np.minimum(df, sums.with_answers - 1)
            few = scores.levels_in_few(columns[0], sums.largest)
            warn_of_levels(plan.request, columns[0], few, FEW_CLUSTERS)
    if len(request.clusters) > 1:
        total = native.repaired(total, request.id)

    nested = _few(request, facts, stored) if len(request.clusters) > 1 else []

    def of_contrasts(contrasts: np.ndarray) -> np.ndarray:
        found = [np.where(np.nan_to_num(contrasts) != 0, df, np.inf).min(axis=1)]
        for cells in nested:
            found.append(native.satterthwaite(replace(plan, cells=cells), fits, cells.clusters, contrasts))
        return np.asarray(np.fmin.reduce(found))

    coef = np.concatenate([fit.coef for fit in fits])
    made = assemble(plan, Solution(coef, total, None if request.vcov == "survey" else of_contrasts))
    record = made.provenance
    fewest = min(facts.n_clusters.values())
    clusters = {"clusters": dict(facts.n_clusters)}
    made = replace(made, provenance=replace(record, n_clusters=fewest, extra=record.extra | clusters))
    return _computed(made, BY_SCORES)


def _few(request: Request, facts: Facts, stored: Stored) -> list[Cells]:
    """Cells by each cluster column of few clusters, of which crossing columns need degrees of freedom."""
    if request.weights or request.family != "gaussian" or request.vcov == "survey":
        return []
    alone = [name for name, n in facts.n_clusters.items() if n <= native.MOST_NESTED]
    requests = [replace(request, clusters=(name,)) for name in alone]
    return [_counted(one, stored) for one in requests if _combinations(one, stored) <= MOST_NESTED_ROWS]


def _intersections(columns: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Sets of cluster columns with the signs of inclusion and exclusion."""
    for size in range(1, len(columns) + 1):
        for chosen in combinations(columns, size):
            yield (-1) ** (size + 1), chosen


@dataclass(frozen=True)
class Sums:
    """What the clusters of some columns add up to."""

    meat: np.ndarray  # (K, K)
    # (K,): clusters with a row, or with an answer, in the block of each coefficient
    with_rows: np.ndarray
    with_answers: np.ndarray
    largest: int  # rows of the largest cluster


class _Scores:
    """Sums of weight times residual times design by cluster."""

    def __init__(self, plan: Plan, fits: list[Regression], rows: Table) -> None:
        import ibis

        self._plan, self._rows = plan, rows
        designs, means, self._place = native.joint_regressions(plan, fits)
        self._regression = np.repeat(np.arange(len(designs)), [one.shape[1] for one in designs])
        self._flags, self._pattern = np.unique(
            np.array([flags for block in plan.blocks for flags in (block.inside, block.counted)]),
            axis=0,
            return_inverse=True,
        )
        key = _keys(plan.cells)
        columns = {f"x{j}": column for j, column in enumerate(np.hstack(designs).T)}
        columns |= {f"m{r}": mean for r, mean in enumerate(means)}
        columns |= {f"f{p}": flags.astype(float) for p, flags in enumerate(self._flags)}
        self._design = ibis.memtable(pa.table({KEY: key, **columns}))

    def by_clusters(self, columns: tuple[str, ...]) -> Sums:
        """Sum the products of the scores of all clusters, and count the clusters."""
        scores = self._grouped(columns)
        pairs = [(i, j) for i in range(len(self._place)) for j in range(i + 1)]
        counted = {
            f"{kind}{p}": (scores[f"{kind}{p}"] > 0).cast("int64").sum()
            for p in range(len(self._flags))
            for kind in ("answers", "rows")
        }
        counted["largest"] = scores["size"].max()
        products, counts = np.zeros((len(self._place),) * 2), pd.Series(dtype=float)
        for first in range(0, len(pairs), MOST_PRODUCTS):
            part = pairs[first : first + MOST_PRODUCTS]
            sums = {f"p{i}_{j}": (scores[f"s{i}"] * scores[f"s{j}"]).sum() for i, j in part}
            found = fetched(scores.aggregate(**sums, **({} if first else counted))).iloc[0]
            counts = counts if first else found
            for i, j in part:
                products[i, j] = products[j, i] = found[f"p{i}_{j}"]
        inside, counted_in = self._pattern[::2], self._pattern[1::2]
        return Sums(
            products[np.ix_(self._place, self._place)],
            self._plan.by_coefficient(counts[f"rows{p}"] for p in counted_in),
            self._plan.by_coefficient(counts[f"answers{p}"] for p in inside),
            int(counts["largest"]),
        )

    def _grouped(self, columns: tuple[str, ...]) -> Table:
        rows = self._rows.mutate(**{KEY: _key_of(self._rows, self._plan.cells)})
        rows = rows.select(*columns, KEY, OUTCOME, WEIGHT).join(self._design, KEY)
        answered = rows[OUTCOME].notnull() & (rows[WEIGHT] > 0)
        rows = rows.mutate(
            answered=answered.cast("float64"),
            **{
                f"r{r}": answered.ifelse(rows[WEIGHT] * (rows[OUTCOME] - rows[f"m{r}"]), 0.0)
                for r in range(int(self._regression.max()) + 1)
            },
        )
        sums = {f"s{j}": (rows[f"r{r}"] * rows[f"x{j}"]).sum() for j, r in enumerate(self._regression)}
        for p in range(len(self._flags)):
            sums |= {f"rows{p}": rows[f"f{p}"].sum(), f"answers{p}": (rows[f"f{p}"] * rows["answered"]).sum()}
        return rows.group_by(list(columns)).agg(size=rows.count(), **sums)

    def levels_in_few(self, column: str, largest: int) -> set[Level]:
        """Clusters, feature and level where a level in use is seen in few clusters, the fewest first."""
        cells = self._plan.cells
        few: list[tuple[str, str, np.ndarray]] = []
        rows = np.ones(len(cells.cell)) if cells.counts is None else cells.counts
        answered = np.bincount(cells.cell, rows * (cells.weight > 0), cells.n_cells)
        for block in self._plan.blocks:
            for feature in dict.fromkeys(name for term in block.terms for name, _ in term):
                for code, level in enumerate(cells.levels[feature]):
                    seen = block.inside & (cells.code(feature) == code)
                    if 0 < answered[seen].sum() < FEW_CLUSTERS * largest:
                        few.append((feature, str(level), seen))
        if not few:
            return set()
        counts = self._clusters_that_answer(column, [seen for _, _, seen in few])
        return {(count, *few[i][:2]) for i, count in enumerate(counts) if count < FEW_CLUSTERS}

    def _clusters_that_answer(self, column: str, flags: Sequence[np.ndarray]) -> list[int]:
        """Clusters with an answered row in some cells, given as flags of shape (C,)."""
        import ibis

        design = {KEY: _keys(self._plan.cells), **{f"f{p}": one for p, one in enumerate(flags)}}
        rows = self._rows.filter(self._rows[OUTCOME].notnull() & (self._rows[WEIGHT] > 0))
        rows = rows.mutate(**{KEY: _key_of(rows, self._plan.cells)})
        rows = rows.select(column, KEY).join(ibis.memtable(pa.table(design)), KEY)
        counts = {f"n{p}": rows[column].nunique(where=rows[f"f{p}"]) for p in range(len(flags))}
        return [int(count) for count in fetched(rows.aggregate(**counts)).iloc[0]]


def _keys(cells: Cells) -> np.ndarray:
    """One number for the levels of each cell, shape (C,)."""
    return np.asarray((cells.codes.astype(np.int64) + 1) @ _radix(cells))


def _radix(cells: Cells) -> np.ndarray:
    sizes = [len(levels) + 1 for levels in cells.levels.values()]
    return np.cumprod([1, *sizes[:-1]], dtype=np.int64)


def _key_of(rows: Table, cells: Cells) -> Column:
    """The number of each row's cell."""
    import ibis

    parts = [
        ibis.cases(
            *((rows[name] == level, (code + 1) * int(radix)) for code, level in enumerate(levels)), else_=0
        )
        for (name, levels), radix in zip(cells.levels.items(), _radix(cells), strict=True)
    ]
    return reduce(add, parts).cast("int64")
