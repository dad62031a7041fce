"""Data to sufficient statistics: attribute cells, repeated pairs, and the chance level of a choice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.readers.aliases import EXCLUDED, without_excluded
from conjury.inference.tables.columns import coerce
from conjury.inference.tables.schema import INSTRUMENT, KEYS, SUM_TOLERANCE

from ..numerics.rating_panel import Entries, RowClusters
from .notes import excluding
from .variables import factor_codes, numeric_column, require_column, unit_codes, warn_caller, weights_column

_PAIR = ("pair_id", "pair")
_TASK = ("judge_id", "task")
POSITION = "position"
MOST_STACKED = 3  # surveys in which a respondent has one task each
_WITHIN = tuple(name for name in KEYS["choices"] if name not in ("pair_id", "position"))


def needed_columns(names: Iterable[str]) -> list[str]:
    """Of the columns of a file, those by which forced choices are recognised."""
    return [name for name in (*_PAIR, *_WITHIN, "task", "status") if name in set(names)]


def chance_of(data: pd.DataFrame, outcome: str, clusters: Sequence[str] = ()) -> float:
    """Mean outcome if levels do not matter: 1/k for a forced choice between k profiles, else 0."""
    choices = forced_choices(data, outcome, clusters)
    return 0.0 if choices is None else 1 / choices[1]


def forced_choices(
    data: pd.DataFrame, outcome: str, clusters: Sequence[str] = (), *, unanswered: bool = False
) -> tuple[np.ndarray, int] | None:
    """Choice of each row, shape (n,), and the number k of profiles; None where choices are not forced."""
    # Rows of a choice share `pair_id` (or `pair`), else `judge_id` and `task`, else the single cluster
    # column. Choices are forced where all k answered outcomes sum to 1, and nowhere to more.
    values = numeric_column(data, outcome)
    answered = ~np.isnan(values)
    if "status" in data:
        answered &= (data["status"].astype("string") == "ok").to_numpy(dtype=bool, na_value=False)
    values = np.where(answered, values, 0.0)
    if values.min(initial=0.0) < 0 or values.max(initial=0.0) > 1 or not (answered.any() or unanswered):
        return None
    for keys in choice_keys(data, clusters):
        code = data.groupby(keys, dropna=False, observed=True, sort=False).ngroup().to_numpy()
        size = np.bincount(code)
        n_profiles = forced_size(
            size, np.bincount(code, answered), np.bincount(code, values), np.ones(len(size), dtype=np.int64)
        )
        if n_profiles is not None:
            return (code, n_profiles) if n_profiles else None
    return None


def forced_size(size: np.ndarray, answered: np.ndarray, total: np.ndarray, n: np.ndarray) -> int | None:
    """Profiles of each choice where all choices are forced."""
    # Arguments have shape (c,), one entry per kind of alike choices. 0: most are forced and others not (with
    # a warning); None: rows do not belong to choices.
    k = int(size.max(initial=0))
    is_complete = (size == k) & (answered == size)
    if k < 2 or (answered.any() and not is_complete.any()):
        return None
    forced = np.abs(total[is_complete] - 1) <= SUM_TOLERANCE
    if forced.all() and (total <= 1 + SUM_TOLERANCE).all():
        return k
    n_forced, n_complete = n[is_complete][forced].sum(), n[is_complete].sum()
    if n_forced <= n_complete / 2:
        return None
    warn_caller(
        f"In {n_forced:,} of {n_complete:,} choices exactly one profile is chosen, in the others none or "
        "several. Marginal means are tested against 0; if one had to be chosen, give "
        f"h0={1 / k:g}, and leave outcomes of skipped choices missing.",
    )
    return 0


def choice_keys(data: pd.DataFrame, clusters: Sequence[str]) -> Iterator[list[str]]:
    """Columns that may tell choices apart: of pairs, perhaps numbered within clusters, else of tasks."""
    for name in _PAIR:
        if name in data:
            within = [name, *(column for column in _WITHIN if column in data)]
            yield within
            yield list(dict.fromkeys([*within, *(column for column in clusters if column in data)]))
            return
    if set(_TASK) <= set(data):
        yield [*_TASK, *(column for column in _WITHIN if column in data and column not in _TASK)]
    elif len(clusters) == 1 and clusters[0] in data:
        yield list(clusters)


REPEAT = "repeat"


class RepeatsExcluded(UserWarning):
    """Rows of repeated pairs were excluded from an estimate.

    Examples
    --------
    >>> import warnings
    >>> from conjury.analysis.conjoint import mm
    >>> rows = pd.DataFrame({"pair_id": [1, 1, 2, 2, 3, 3], "tone": ["kind", "rude"] * 3,
    ...     "chosen": [1, 0, 0, 1, 1, 0], "repeat": [False] * 4 + [True] * 2})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = mm(rows, "chosen ~ tone", id="pair_id")
    >>> RepeatsExcluded in [warning.category for warning in caught]
    True
    """


def is_repeat(data: pd.DataFrame) -> np.ndarray:
    """Flag rows of repeated pairs, shape (n,): ``repeat`` is true; none where it holds other values."""
    try:
        flags = coerce(data[REPEAT], "boolean", "data") if REPEAT in data else None
    except InputError:
        flags = None
    return np.zeros(len(data), dtype=bool) if flags is None else flags.fillna(False).to_numpy(dtype=bool)


class RespondentsExcluded(UserWarning):
    """Rows of respondents with a reason in column ``excluded`` were left out of an estimate.

    Examples
    --------
    >>> import warnings
    >>> from conjury.analysis.conjoint import mm
    >>> rows = pd.DataFrame({"pair_id": [1, 1, 2, 2, 3, 3], "tone": ["kind", "rude"] * 3,
    ...     "chosen": [1, 0, 0, 1, 1, 0], "excluded": [None] * 4 + ["preview"] * 2})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = mm(rows, "chosen ~ tone", id="pair_id")
    >>> RespondentsExcluded in [warning.category for warning in caught]
    True
    """


def with_used_rows(data: pd.DataFrame, named: Collection[str | None] = ()) -> pd.DataFrame:
    """Exclude rows with a reason in column ``excluded`` with a warning, unless ``named`` has that column."""
    rows, notes = (data, []) if EXCLUDED in named else without_excluded(data)
    if rows.empty and len(data):
        raise InputError("All rows are excluded by column 'excluded'; correct or drop that column.")
    for note in notes:
        warn_caller(
            excluding(
                "{note}. Drop the rows to silence this warning, or the column to use them.",
                note=note.removesuffix("."),
            ),
            RespondentsExcluded,
        )
    return rows


def without_repeats(data: pd.DataFrame, named: Collection[str | None] = ()) -> pd.DataFrame:
    """Exclude rows of repeated pairs with a warning; keep them where ``named`` columns hold ``repeat``."""
    data = with_used_rows(data, named)
    mask = np.zeros(len(data), dtype=bool) if REPEAT in named else is_repeat(data)
    if not mask.any():
        return data
    warn_of_repeats(int(mask.sum()), is_all=bool(mask.all()))
    rows: pd.DataFrame = data[~mask]
    return rows


def key_columns(names: Collection[str], clusters: Sequence[str] = ()) -> list[str]:
    """Columns whose values name one row of the choices of one respondent; empty where some are missing."""
    task = next((name for name in (*_PAIR, _TASK[1]) if name in names), None)
    who = [name for name in dict.fromkeys((_TASK[0], *clusters)) if name in names and name not in _PAIR]
    if task is None or not who or POSITION not in names:
        return []
    further = [name for name in (*_WITHIN, *INSTRUMENT) if name in names]
    return list(dict.fromkeys([*who, task, *further, POSITION]))


def refuse_shared_numbers(data: pd.DataFrame, clusters: Sequence[str], by: Sequence[str] = ()) -> None:
    """Refuse several rows of a respondent in one position of one task: surveys that are numbered alike."""
    keys = key_columns(data.columns, clusters)
    if not keys:
        return
    if not data.duplicated([name for name in keys if name in (*_PAIR, _TASK[1], POSITION)]).any():
        return  # no task is there twice, as of one judge: whose it is need not be read
    keys = [keys[0], *(name for name in by if name not in keys), *keys[1:]]
    repeated = data.duplicated(keys).to_numpy()
    if not repeated.any() or not _is_stacked(data, keys):
        return
    row = int(repeated.argmax())
    named = ", ".join(f"{name} {data[name].iloc[row]}" for name in keys if pd.notna(data[name].iloc[row]))
    more = f"; {int(repeated.sum()):,} rows are like that" if repeated.sum() > 1 else ""
    who = keys[0]
    raise InputError(
        f"Row {row + 1} repeats {named}{more}: respondents of several surveys are numbered alike and would "
        "count as one cluster, which makes standard errors wrong. Give each respondent and each task a name "
        f"of its own, such as data[{who!r}] = data['survey'] + '_' + data[{who!r}].astype(str), or drop rows "
        "that occur twice with data.drop_duplicates()."
    )


def _is_stacked(data: pd.DataFrame, keys: Sequence[str]) -> bool:
    """Whether whole tasks are there again, rather than positions or names of tasks that are all alike."""
    counts = data.groupby(list(keys), observed=True, dropna=False).size()
    tasks = counts.groupby(level=list(range(len(keys) - 1)), dropna=False)
    is_whole = bool((tasks.size() > 1).any() and (tasks.nunique() == 1).mean() > 0.5)
    has_tasks = bool((tasks.size().groupby(level=0).size() > 1).any())
    return is_whole and (has_tasks or int(counts.max()) <= MOST_STACKED)


def warn_of_repeats(count: int, *, is_all: bool) -> None:
    """State how many rows of repeated pairs are excluded; refuse if they are the ``is_all`` table."""
    if is_all:
        raise InputError(
            "All rows are marked as repeats (column 'repeat'), which are excluded from effects; add the rows "
            "of the pairs that they repeat."
        )
    warn_caller(
        excluding(
            "{rows} of repeated pairs (column 'repeat') excluded: repeated answers are not independent of "
            "the earlier ones. Give include_repeats(data) to include them in the clusters of the earlier "
            "pairs, or data[~data['repeat']] to silence this warning.",
            rows="One row" if count == 1 else f"{count:,} rows",
        ),
        RepeatsExcluded,
    )


_DENSE_CODES = 1 << 22  # up to here all possible codes are counted; beyond, those that occur are sorted


@dataclass(frozen=True)
class AttributeCells:
    """Attribute cells of n data rows in G clusters."""

    levels: dict[str, tuple[Any, ...]]  # levels of each feature, in order; F features
    codes: np.ndarray  # (C, F): level of each feature in each cell that occurs, -1 where missing
    cell: np.ndarray  # (n,): cell of each row
    # weight, outcome: (n,): weight and outcome of each row; a row with a missing outcome has weight 0 and
    # outcome 0
    weight: np.ndarray
    outcome: np.ndarray
    # cluster of each row by each cluster column; clusters whose outcomes are all missing are counted. Empty
    # where rows are independent
    clusterings: dict[str, RowClusters]
    # stratum of each row; every cluster lies in one, and every stratum has two clusters or more
    strata: RowClusters | None = None
    # (n,): how many rows of data each row stands for, with their sum of weights; None where it is one
    counts: np.ndarray | None = None
    limits: tuple[float, float] | None = None  # of outcomes, where those of cells are means

    @property
    def n_rows(self) -> int:
        """Rows of data, n, or more where rows stand for several."""
        return len(self.cell) if self.counts is None else int(self.counts.sum())

    def number(self, rows: np.ndarray) -> int:
        """Rows of data among some rows, given as flags of shape (n,)."""
        return int(rows.sum() if self.counts is None else self.counts[rows].sum())

    @cached_property
    def span(self) -> tuple[float, float]:
        """Least and largest outcome; rows without one count as 0."""
        return self.limits or (float(self.outcome.min()), float(self.outcome.max()))

    @cached_property
    def clusters(self) -> RowClusters:
        """Clusters of the first cluster column; without one, every row is a cluster."""
        return next(iter(self.clusterings.values()), RowClusters(np.arange(len(self.cell)), self.n_rows))

    @property
    def is_aggregated(self) -> bool:
        """Whether neither rows nor clusters are at hand: both stay in the engine of their table."""
        return self.counts is not None and not self.clusterings

    def is_rows(self, clusters: RowClusters) -> bool:
        """Whether every row of data is a cluster of its own."""
        if self.counts is None:
            return clusters.is_rows
        return not self.clusterings and clusters is self.clusters

    @property
    def n_cells(self) -> int:
        """Cells that occur, C."""
        return len(self.codes)

    @cached_property
    def cell_weight(self) -> np.ndarray:
        """Sum of weights in each cell, shape (C,)."""
        return np.bincount(self.cell, self.weight, self.n_cells)

    @cached_property
    def cell_total(self) -> np.ndarray:
        """Weighted sum of outcomes in each cell, shape (C,)."""
        return np.bincount(self.cell, self.weight * self.outcome, self.n_cells)

    def entries(self, units: np.ndarray | None = None, n_units: int = 0) -> Entries:
        """What each unit (cluster, if none are given) put into each cell."""
        if units is None:
            units, n_units = self.clusters.code, self.clusters.n
        order = None if np.all(units[1:] >= units[:-1]) else np.argsort(units, kind="stable")
        starts = np.zeros(n_units + 1, dtype=np.int32)
        np.cumsum(np.bincount(units, minlength=n_units), out=starts[1:])
        cell, weight, total = self.cell, self.weight, self.weight * self.outcome
        if order is not None:
            cell, weight, total = cell[order], weight[order], total[order]
        return Entries(cell.astype(np.int32), weight, total, starts, self.n_cells)

    def code(self, feature: str) -> np.ndarray:
        """Level code of one feature in each cell, shape (C,)."""
        return self.codes[:, list(self.levels).index(feature)]


def build_cells(
    data: pd.DataFrame,
    outcome: str | None,
    features: Sequence[str],
    *,
    clusters: Sequence[str] = (),
    weights: str | None = None,
    strata: str | None = None,
    reference: Mapping[str, Any] | None = None,
) -> AttributeCells:
    """Reduce a table of profiles to attribute cells."""
    if len(data) == 0:
        raise InputError("The data have no rows; give a table with one row per profile.")
    columns = [*features, *(name for name in (outcome, weights, strata) if name is not None), *clusters]
    for name in columns:
        require_column(data, name)
    references = reference or {}
    if not isinstance(references, Mapping):
        raise InputError(f"reference is {references!r}; give a mapping from features to levels.")
    unknown = [name for name in references if name not in features]
    if unknown:
        raise InputError(
            f"reference names {unknown[0]!r}, which is no feature; the features are "
            f"{listed(map(repr, features))}."
        )
    factors = {name: factor_codes(data, name, references.get(name)) for name in features}
    levels = {name: names for name, (_, names) in factors.items()}
    cell, codes = _number_cells([factors[name][0] for name in features], [len(v) for v in levels.values()])
    weight = np.ones(len(data)) if weights is None else weights_column(data, weights)
    values = np.zeros(len(data)) if outcome is None else numeric_column(data, outcome)
    missing = np.isnan(values)
    if missing.any():
        weight, values = np.where(missing, 0.0, weight), np.where(missing, 0.0, values)
    units = {name: RowClusters(*unit_codes(data, name)) for name in clusters}
    cells = AttributeCells(levels, codes, cell, weight, values, units)
    return cells if strata is None else replace(cells, strata=_strata(data, strata, cells.clusters))


def _strata(data: pd.DataFrame, name: str, clusters: RowClusters) -> RowClusters:
    """Number the strata; as in R's survey, no cluster may lie in two, and none may have a single cluster."""
    strata = RowClusters(*unit_codes(data, name))
    cluster_strata = np.empty(clusters.n, dtype=np.int64)
    cluster_strata[clusters.code] = strata.code
    conflicts = cluster_strata[clusters.code] != strata.code
    if conflicts.any():
        row = int(conflicts.argmax())
        raise InputError(
            f"Row {row + 1} is in stratum {data[name].iloc[row]} of column {name!r}, and other rows of its "
            "cluster are in another; give every cluster one stratum."
        )
    lonely = np.bincount(cluster_strata, minlength=strata.n) < 2
    if lonely.any():
        row = int(lonely[strata.code].argmax())
        raise InputError(
            f"Stratum {data[name].iloc[row]} of column {name!r} has a single cluster and so no variance; "
            "join it with another stratum."
        )
    return strata


def _number_cells(factors: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Number the combinations of codes that occur: cell (n,) and codes by cell (C, F)."""
    radix = [size + 1 for size in sizes]
    n_codes = 1
    for size in radix:
        n_codes *= size
    if n_codes >= 2**62:
        raise InputError(
            f"The features have {n_codes:.1e} combinations of levels; name fewer features in one formula."
        )
    joint = np.zeros(len(factors[0]) if factors else 0, dtype=np.int64)
    for codes, size in zip(factors, radix, strict=True):
        joint *= size
        joint += codes
        joint += 1
    if n_codes <= _DENSE_CODES:
        present = np.flatnonzero(np.bincount(joint, minlength=1))
        lookup = np.zeros(n_codes, dtype=np.int64)
        lookup[present] = np.arange(len(present))
        cell = lookup[joint]
    else:
        present, cell = np.unique(joint, return_inverse=True)
    columns = []
    for size in reversed(radix):
        present, digit = np.divmod(present, size)
        columns.append(digit - 1)
    return cell, np.stack(columns[::-1], axis=1)
