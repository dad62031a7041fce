"""A judgments table as ratings in codes: what every analysis of raters starts from.

What cannot be a rating is refused with one sentence; what is left out on purpose (answers without a value,
rows that an importer marked) is counted in ``exclusions``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError
from conjury.inference.readers.exclusions import MARKED, exclusion_reasons
from conjury.inference.tables.columns import as_text, did_you_mean, listed, refuse, where
from conjury.inference.tables.schema import JUDGE_KINDS, require_columns

from ..numerics.types import Codes, Floats
from ..vocabulary import HUMAN as HUMAN
from .scale_hints import other_scale, scale_hints

EXCLUDED = "excluded"  # column of importers: why a row is left out, missing where it is not; or a flag
REQUIRED = ["judge_id", "judge_kind", "item_id", "value"]


@dataclass(frozen=True)
class Ratings:
    """n usable ratings of I items by J judges.

    Attributes
    ----------
    frame : DataFrame of n rows
        ``judge`` (id; with its prompt where a model has several), ``kind`` ("human" or "model"), ``group``
        (the panel of a person, by default "human", or the model), ``item``, ``sample``, ``value`` (float,
        or text for labels), and every further column of the judgments.
    category : ndarray, shape (n,)
        Position of the value in ``categories``.
    item, judge : ndarray, shape (n,)
        Positions in ``items`` and ``judges``.
    categories : tuple
        Numbers in rising order, or labels; those of the scale where one is given, else those that occur.
    items, judges : tuple of str
        In order of appearance; only those with a usable rating.
    kinds, groups : tuple of str, length J
        Of each judge.
    numeric : bool
        Whether values are numbers.
    exclusions : DataFrame
        ``reason, n_rows, n_judges, n_items`` of what was left out.
    notes : tuple of str
        What should be known of these ratings.
    """

    frame: pd.DataFrame
    category: Codes
    item: Codes
    judge: Codes
    categories: tuple[Any, ...]
    items: tuple[str, ...]
    judges: tuple[str, ...]
    kinds: tuple[str, ...]
    groups: tuple[str, ...]
    numeric: bool
    exclusions: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> Floats:
        """Ratings as numbers, shape (n,); InputError for labels."""
        if not self.numeric:
            raise InputError(
                f"These judgments are labels ({listed(self.categories)}); this analysis needs numbers."
            )
        return self.frame["value"].to_numpy(dtype=float)

    @property
    def humans(self) -> list[str]:
        """Judges who are people."""
        return [name for name, kind in zip(self.judges, self.kinds, strict=True) if kind == HUMAN]

    @property
    def models(self) -> list[str]:
        """Judges that are models."""
        return [name for name, kind in zip(self.judges, self.kinds, strict=True) if kind != HUMAN]

    @cached_property
    def is_human(self) -> NDArray[np.bool_]:
        """Whether each rating is by a person, shape (n,)."""
        return np.array([kind == HUMAN for kind in self.kinds], dtype=bool)[self.judge]

    @cached_property
    def first_samples(self) -> NDArray[np.bool_]:
        """Whether each rating is the first that its judge gave of its item, shape (n,)."""
        sample = self.frame["sample"].to_numpy(dtype=np.int64)
        first = pd.Series(sample).groupby([self.judge, self.item]).transform("min").to_numpy()
        return np.asarray(sample == first)

    def of(self, judges: Sequence[str]) -> Ratings:
        """The ratings of some judges, in the same categories; InputError for a judge who is not there."""
        for name in judges:
            if name not in self.judges:
                raise InputError(
                    f"There is no judge '{name}'{did_you_mean(name, self.judges)}; there are "
                    f"{listed(self.judges)}."
                )
        return self.where(self.frame["judge"].isin(list(judges)).to_numpy(dtype=bool))

    def where(self, kept: NDArray[np.bool_]) -> Ratings:
        """The ratings where ``kept``, shape (n,), is true, in the same categories."""
        return _coded(self, self.frame[kept].reset_index(drop=True), self.category[kept])


def read_ratings(
    judgments: pd.DataFrame,
    *,
    dimension: str | None = None,
    scale: Sequence[float] | None = None,
    numeric: bool | None = None,
) -> Ratings:
    """Check judgments and bring one dimension of them into codes.

    Parameters
    ----------
    judgments : DataFrame
        One row a judgment: ``judge_id, judge_kind`` ("human" or "model"), ``item_id, value``, and, where
        there are any, ``dimension, prompt_id, sample, status, panel, excluded``; further columns are kept.
        ``excluded`` holds reasons, or true and false, yes and no, 1 and 0; rows with a reason or true are
        left out. Prompts of a model are judges of their own; ``sample`` (whole numbers) tells repeated
        ratings apart.
    dimension : str, optional
        Which dimension; needed where the table holds several.
    scale : sequence of float, optional
        The ratings that are allowed, such as ``range(5)``; by default those that occur.
    numeric : bool, optional
        Whether values are numbers; by default they are where all can be read so.

    Returns
    -------
    Ratings

    Raises
    ------
    InputError
        For missing columns, an unknown dimension, text among numbers, ratings outside the scale, raters on
        different scales, the same judgment twice, or nothing left to analyse.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"], "judge_kind": ["human", "human", "model"],
    ...     "item_id": "joke", "value": [3, 4, 2]})
    >>> read_ratings(table).groups
    ('human', 'human', 'gpt')
    """
    source = "judgments"
    require_columns(judgments, REQUIRED, source)
    if judgments.empty:
        raise InputError(f"{source}: there are no rows; give judgments.")
    chosen, row = _of_dimension(judgments.reset_index(drop=True), dimension, source)
    _check_kinds(chosen, source, row)
    frame = _named(chosen, source, row)
    usable, exclusions = _usable(frame, source)
    frame, row = frame[usable].reset_index(drop=True), row[usable]
    value, labels = _values(frame["value"], numeric, source, row)
    frame = frame.assign(value=value)
    _refuse_repeated(frame, source, row)
    categories: tuple[Any, ...]
    if labels is None:
        categories = _scale(frame, scale, source, row)
        category = np.searchsorted(np.array(categories), frame["value"].to_numpy(dtype=float))
    else:
        if scale is not None:
            raise InputError(f"{source}: column 'value' holds labels, which have no scale; leave it out.")
        categories = labels
        category = pd.Index(labels).get_indexer(pd.Index(frame["value"]))
    none: tuple[str, ...] = ()
    empty = np.zeros(0, dtype=np.int64)
    made = Ratings(
        frame, empty, empty, empty, categories, none, none, none, none, labels is None, exclusions, ()
    )
    coded = _coded(made, frame, category.astype(np.int64))
    ranges = scale_hints(coded.frame) if labels is None and scale is None else []
    return replace(coded, notes=(*_notes(coded, chosen), *ranges))


def _in_table(row: Codes, bad: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Flag the rows of the table where ``bad`` is true; ``row`` holds their numbers."""
    flagged = np.zeros(int(row.max()) + 1, dtype=bool)
    flagged[row[bad]] = True
    return flagged


def _of_dimension(judgments: pd.DataFrame, dimension: str | None, source: str) -> tuple[pd.DataFrame, Codes]:
    """Rows of one dimension, and their numbers in the table."""
    rows = np.arange(len(judgments))
    if "dimension" not in judgments:
        if dimension is not None:
            raise InputError(
                f"{source}: there is no column 'dimension' to look for '{dimension}' in; add it."
            )
        return judgments, rows
    names = as_text(judgments["dimension"])
    known = [str(name) for name in names.dropna().unique()]
    if dimension is None:
        if len(known) > 1:
            raise InputError(f"{source}: there are several dimensions ({listed(known)}); name one.")
        return judgments, rows
    if dimension not in known:
        raise InputError(
            f"{source}: there is no dimension '{dimension}'{did_you_mean(dimension, known)}; there are "
            f"{listed(known)}."
        )
    kept = (names == dimension).fillna(False).to_numpy(dtype=bool)
    return judgments[kept].reset_index(drop=True), rows[kept]


def _check_kinds(frame: pd.DataFrame, source: str, row: Codes) -> None:
    kinds = as_text(frame["judge_kind"])
    bad = ~kinds.isin(JUDGE_KINDS).to_numpy(dtype=bool)
    if bad.any():
        value = kinds.iloc[int(bad.argmax())]
        refuse(source, "judge_kind", _in_table(row, bad), f"holds '{value}'", "write human or model")
    for column in ("judge_id", "item_id"):
        missing = frame[column].isna().to_numpy(dtype=bool)
        if missing.any():
            flagged = _in_table(row, missing)
            refuse(source, column, flagged, "is empty", "fill it in, every row needs one")
    each = pd.DataFrame({"judge": as_text(frame["judge_id"]), "kind": kinds}).drop_duplicates()
    twice = each["judge"].duplicated()
    if twice.any():
        name = each["judge"][twice].iloc[0]
        raise InputError(f"{source}: judge '{name}' is human in some rows and a model in others; correct it.")


def _named(frame: pd.DataFrame, source: str, row: Codes) -> pd.DataFrame:
    """Add judge, kind, group, item and sample; prompts of a model are judges of their own."""
    judge, kind = as_text(frame["judge_id"]), as_text(frame["judge_kind"])
    if "prompt_id" in frame:
        prompt = as_text(frame["prompt_id"]).fillna("")
        several = (prompt.groupby(judge).transform("nunique") > 1) & (kind != HUMAN)
        judge = judge.mask(several.to_numpy(dtype=bool), judge + " (" + prompt + ")")
    panel = as_text(frame["panel"]).fillna(HUMAN) if "panel" in frame else HUMAN
    return frame.assign(
        judge=judge,
        kind=kind,
        group=judge.mask((kind == HUMAN).to_numpy(dtype=bool), panel),
        item=as_text(frame["item_id"]),
        sample=_samples(frame["sample"], source, row) if "sample" in frame else 1,
    )


def _samples(column: pd.Series[Any], source: str, row: Codes) -> Codes:
    """Whole numbers of samples, 1 where there is none."""
    numbers = pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    empty = column.isna().to_numpy(dtype=bool)
    bad = ~empty & ~(np.isfinite(numbers) & (np.round(numbers) == numbers))
    if bad.any():
        told = f"holds '{column.iloc[int(bad.argmax())]}'"
        refuse(source, "sample", _in_table(row, bad), told, "number repeated judgments with whole numbers")
    return np.where(empty, 1, numbers).astype(np.int64)


def _usable(frame: pd.DataFrame, source: str) -> tuple[NDArray[np.bool_], pd.DataFrame]:
    """Flag the rows that hold a rating to be used; count the others by reason."""
    reason = pd.Series(pd.NA, index=frame.index, dtype="string")
    if "status" in frame:
        status = as_text(frame["status"])
        reason = reason.mask((status != "ok").fillna(False).to_numpy(dtype=bool), "answer: " + status)
    reason = reason.mask((frame["value"].isna() & reason.isna()).to_numpy(dtype=bool), "no value")
    if EXCLUDED in frame:
        marked = exclusion_reasons(frame[EXCLUDED])
        told = ("excluded: " + marked).mask(marked == MARKED, "excluded")
        reason = reason.mask(marked.notna().to_numpy(dtype=bool), told)
    usable = reason.isna().to_numpy(dtype=bool)
    if not usable.any():
        raise InputError(f"{source}: no judgment has a value to use ({listed(reason.unique())}).")
    counted = frame.assign(reason=reason)[~usable].groupby("reason", sort=False)
    exclusions = counted.agg(
        n_rows=("judge", "size"), n_judges=("judge", "nunique"), n_items=("item", "nunique")
    )
    return usable, exclusions.reset_index()


def _values(
    column: pd.Series[Any], numeric: bool | None, source: str, row: Codes
) -> tuple[pd.Series[Any], tuple[str, ...] | None]:
    """Values as numbers, or as text with the labels in alphabetical order."""
    plain = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
    numbers = pd.to_numeric(plain, errors="coerce").astype("Float64").astype("float64")
    read = np.isfinite(numbers.to_numpy(dtype=float))
    if numeric is None:
        numeric = bool(read.mean() > 0.5)
    if numeric and not read.all():
        at = int((~read).argmax())
        raise InputError(
            f"{source}: {where('value', _in_table(row, ~read))} holds '{column.iloc[at]}', while other "
            "ratings are numbers; correct it, or give it a status other than ok."
        )
    if numeric:
        return numbers, None
    text = as_text(column)
    return text, tuple(sorted(str(label) for label in text.unique()))


def _refuse_repeated(frame: pd.DataFrame, source: str, row: Codes) -> None:
    repeated = frame.duplicated(["judge", "item", "sample"]).to_numpy(dtype=bool)
    if repeated.any():
        at = int(repeated.argmax())
        first = frame.iloc[at]
        raise InputError(
            f"{source}: {where('item_id', _in_table(row, repeated))} repeats the judgment of item "
            f"'{first['item']}' by '{first['judge']}'; keep one row for each, or number them in a column "
            "'sample'."
        )


def _scale(frame: pd.DataFrame, scale: Sequence[float] | None, source: str, row: Codes) -> tuple[float, ...]:
    values = frame["value"].to_numpy(dtype=float)
    if scale is None:
        _refuse_mixed(frame, source)
        return tuple(float(value) for value in np.unique(values))
    allowed = _allowed(scale)
    outside = ~np.isin(values, allowed)
    if outside.any():
        at = int(outside.argmax())
        raise InputError(
            f"{source}: {where('value', _in_table(row, outside))} holds {values[at]:g}, which is not on the "
            f"scale ({listed(f'{value:g}' for value in allowed)}); correct it."
        )
    return tuple(float(value) for value in allowed)


def _allowed(scale: Sequence[float]) -> Floats:
    """The ratings of a scale, rising; InputError for what is no list of numbers."""
    try:
        allowed: Floats = np.unique(np.array(list(scale), dtype=np.float64))
    except (TypeError, ValueError):
        allowed = np.zeros(0)
    if not len(allowed) or not np.isfinite(allowed).all():
        raise InputError(f"scale is {scale!r}; give the ratings that are allowed, such as range(5).")
    return allowed


def _refuse_mixed(frame: pd.DataFrame, source: str) -> None:
    found = other_scale(frame)
    if found is not None:
        raise InputError(f"{source}: {found}; bring all to one scale, or state the scale.")


def _coded(made: Ratings, frame: pd.DataFrame, category: Codes) -> Ratings:
    item, items = pd.factorize(frame["item"])
    judge, judges = pd.factorize(frame["judge"])
    if not len(frame):
        raise InputError("No judgment is left to analyse; choose other judges or items.")
    first = frame.drop_duplicates("judge")
    return replace(
        made,
        frame=frame,
        category=category,
        item=item.astype(np.int64),
        judge=judge.astype(np.int64),
        items=tuple(str(name) for name in items),
        judges=tuple(str(name) for name in judges),
        kinds=tuple(str(kind) for kind in first["kind"]),
        groups=tuple(str(group) for group in first["group"]),
    )


def _notes(ratings: Ratings, chosen: pd.DataFrame) -> list[str]:
    """Say what readers should know: what was left out, raters with one rating, constant raters."""
    told = [
        f"{_number(row['n_rows'], 'judgment')} by {_number(row['n_judges'], 'judge')} left out "
        f"({row['reason']})."
        for _, row in ratings.exclusions.iterrows()
    ]
    lost = chosen["item_id"].nunique() - len(ratings.items)
    if lost:
        told.append(f"{_number(lost, 'item')} without a rating that can be used.")
    each = ratings.frame.groupby("judge", sort=False)["value"].agg(["size", "nunique"])
    single = each.index[each["size"] == 1]
    if len(single):
        told.append(f"{listed(single, 6)}: one rating each.")
    constant = each.index[(each["size"] > 1) & (each["nunique"] == 1)]
    if len(constant):
        told.append(f"{listed(constant, 6)}: the same rating for every item.")
    return told


def _number(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
