"""Which columns of an export contain ratings: patterns with named gaps, such as ``Q{item}_{dimension}``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..tables.row_numbers import row_words
from .text_tables import read_export_table, require_column

GAPS = ("item", "dimension", "place", "sample", "judge")
NUMBERED = ("place", "sample")


@dataclass(frozen=True)
class Layout:
    """What the columns of an export are; what is not named is taken from the columns that the program writes.

    Parameters
    ----------
    ratings : sequence of str
        Patterns of rating columns, with ``{item}``, ``{dimension}``, ``{place}`` (a number by which
        ``item`` finds the column that names the item), ``{sample}`` or ``{judge}``; as ``NAME=PATTERN``
        where the pattern has no dimension.
    value : mapping
        Rating columns by their dimension, for tables with one rating per row.
    dimension, item, judge, sample, panel, duration, person : str, optional
        Columns of each row; ``item`` may contain ``{place}``, and ``person`` is the id of people in another
        program.
    dimensions, items : mapping
        Ids by the words of the export. Only the dimensions named are read.
    covariates : sequence of str
        Columns of the person to keep.
    kind : str, optional
        Column that records whether a judge is a person or a model.
    models : sequence of str
        Judges that are models.
    people : bool
        Whether all judges are people.
    all_shown : bool
        Whether an item without any rating by a person is missing, and not unseen.
    timezone : str, optional
        Of the times in the file.

    Examples
    --------
    >>> Layout(ratings=["Q{item}_{dimension}"], dimensions={"1": "wit", "2": "clarity"}).all_shown
    False
    """

    ratings: Sequence[str] = ()
    value: Mapping[str, str] = field(default_factory=dict)
    dimension: str | None = None
    item: str | None = None
    judge: str | None = None
    sample: str | None = None
    panel: str | None = None
    duration: str | None = None
    person: str | None = None
    dimensions: Mapping[str, str] = field(default_factory=dict)
    items: Mapping[str, str] = field(default_factory=dict)
    covariates: Sequence[str] = ()
    kind: str | None = None
    models: Sequence[str] = ()
    people: bool = False
    all_shown: bool = False
    timezone: str | None = None


@dataclass(frozen=True)
class RatingColumn:
    """A column of ratings, and the parts of its name; None where the name lacks a part."""

    column: str
    dimension: str | None = None
    item: str | None = None
    place: str | None = None
    sample: str | None = None
    judge: str | None = None


def find_places(table: pd.DataFrame, layout: Layout, ignored: set[str], source: str) -> list[RatingColumn]:
    """Find the rating columns of a table; InputError where a pattern matches none, or in several ways."""
    columns = [str(name) for name in table if str(name) not in ignored]
    places: dict[str, RatingColumn] = {}
    for text in layout.ratings:
        pattern = _ColumnPattern(text, layout, source)
        matches = [place for column in columns if (place := pattern.place(column))]
        if not matches:
            pattern.refuse_no_match(columns)
        for place in matches:
            if place.column in places:
                raise InputError(
                    f"{source}: column '{place.column}' matches two patterns of --ratings; make them differ."
                )
            places[place.column] = place
    dimensions = {place.dimension for place in places.values()}
    for dimension in layout.dimensions:
        if places and None not in dimensions and dimension not in dimensions:
            names = sorted(text for text in dimensions if text)
            raise InputError(
                f"{source}: no rating column has dimension '{dimension}'{did_you_mean(dimension, names)}; "
                f"correct --dimensions (there are: {listed(names)})."
            )
    return list(places.values())


def odd_columns(places: Sequence[RatingColumn], layout: Layout) -> list[str]:
    """Note columns whose dimension is that of a single item, while other dimensions have several items."""
    items: dict[str, set[str]] = {}
    for place in places:
        key = place.item or place.place
        if place.dimension is not None and key is not None:
            items.setdefault(place.dimension, set()).add(key)
    alone = {name for name, keys in items.items() if len(keys) == 1}
    if layout.dimensions or not alone or len(alone) == len(items):
        return []
    odd = [
        f"{place.column} (dimension '{place.dimension}' of item '{place.item or place.place}' alone)"
        for place in places
        if place.dimension in alone
    ]
    return [
        f"Columns that were imported as ratings and differ from the others: {listed(odd, 6)}; if they are "
        "not ratings, name the dimensions that are, as --dimensions "
        f"{','.join(name for name in items if name not in alone)}."
    ]


def read_names(text: str | None, option: str) -> dict[str, str]:
    """Read ids by the words of an export.

    Parameters
    ----------
    text : str or None
        ``a,b``, ``1=a,2=b``, or a CSV with ``key`` and ``item_id``.
    option : str
        What errors call it.

    Returns
    -------
    dict of str to str
        Ids by the words of the export, in the order given.

    Examples
    --------
    >>> read_names("1=wit,2=clarity", "--dimensions")
    {'1': 'wit', '2': 'clarity'}
    """
    if text is None:
        return {}
    if text.lower().endswith((".csv", ".tsv", ".csv.gz")):
        table = read_export_table(text).table
        for column in ("key", "item_id"):
            require_column(table, column, text, f"the header of {option}")
        pairs = list(zip(table["key"], table["item_id"], strict=True))
    else:
        parts = [part.partition("=") for part in text.split(",") if part.strip()]
        pairs = [(key.strip(), (name if equals else key).strip()) for key, equals, name in parts]
    named: dict[str, str] = {}
    for row, (key, name) in enumerate(pairs, start=1):
        if pd.isna(key) or pd.isna(name) or not key or not name:
            raise InputError(f"{option} '{text}': entry {row} lacks a key or an id; write KEY=ID.")
        if key in named:
            raise InputError(f"{option} '{text}': entry {row} repeats '{key}'; give each once.")
        named[str(key)] = str(name)
    return named


def rename_ids(long: pd.DataFrame, layout: Layout, source: str) -> pd.DataFrame:
    """Items and dimensions by the ids that the layout gives them."""
    if layout.dimensions:
        mask = long["dimension"].isin(list(layout.dimensions))
        if not mask.any():
            raise InputError(
                f"{source}: no row has one of the dimensions {listed(layout.dimensions)}; correct "
                f"--dimensions (there are: {listed(long['dimension'].unique())})."
            )
        long = long[mask].reset_index(drop=True)
        long["dimension"] = long["dimension"].map(dict(layout.dimensions))
    if layout.items:
        named = long["item_id"].map(dict(layout.items))
        unknown = (named.isna() & long["item_id"].notna()).to_numpy()
        if unknown.any():
            row = long.iloc[int(unknown.argmax())]
            _refuse_item(f"row {row_words(source, row['row'] - 1)}", str(row["item_id"]), layout, source)
        long["item_id"] = named
    return long


def _refuse_item(where: str, item: str, layout: Layout, source: str) -> NoReturn:
    raise InputError(
        f"{source}: {where} has item '{item}', which is not in --items"
        f"{did_you_mean(item, layout.items)}; add it."
    )


class _ColumnPattern:
    """A pattern of --ratings, checked, and the parts of the column names that match it."""

    def __init__(self, text: str, layout: Layout, source: str) -> None:
        name, equals, pattern = text.partition("=")
        is_named = equals and "{" not in name
        self.text, self.layout, self.source = text, layout, source
        self.name = name.strip() if is_named else None
        self.pattern = pattern if is_named else text
        pieces = re.split(r"\{([^{}]*)\}", self.pattern)
        self.literals, self.gaps = pieces[::2], pieces[1::2]
        problem = self._problem()
        if problem is not None:
            raise InputError(f"--ratings '{text}' {problem}.")

    def _problem(self) -> str | None:
        for gap in self.gaps:
            if gap not in GAPS:
                choices = listed("{" + name + "}" for name in GAPS)
                return f"contains {{{gap}}}{did_you_mean(gap, GAPS)}; use {choices}"
        if len(set(self.gaps)) < len(self.gaps):
            return "contains a placeholder twice; use each once"
        if "" in self.literals[1:-1]:
            return "has two adjacent placeholders; put the text between them"
        if self.name is not None and "dimension" in self.gaps:
            return "names a dimension and contains {dimension}; keep one of the two"
        if any("{" in literal or "}" in literal for literal in self.literals):
            return "has a single brace; write placeholders such as {item}"
        return None

    def _parts(
        self, column: str, names_by_gap: Mapping[str, Iterable[str]], shortest: bool = True
    ) -> dict[str, str] | None:
        """The parts of a column name, the first gaps as short or as long as possible; None for no match."""
        expression = re.escape(self.literals[0])
        for gap, literal in zip(self.gaps, self.literals[1:], strict=True):
            among = sorted(names_by_gap.get(gap, ()), key=len, reverse=not shortest)
            anything = (r"\d+" if gap in NUMBERED else ".+") + ("?" if shortest else "")
            expression += f"(?P<{gap}>{'|'.join(map(re.escape, among)) or anything}){re.escape(literal)}"
        match = re.fullmatch(expression, column, re.DOTALL)
        return None if match is None else match.groupdict()

    def place(self, column: str) -> RatingColumn | None:
        """The parts of a column name; None where it does not match, InputError where it is ambiguous."""
        dimensions, items = self.layout.dimensions, self.layout.items
        if self.name is not None and dimensions and self.name not in dimensions:
            return None
        parts = self._parts(column, {"dimension": dimensions, "item": items})
        if parts is None:
            unnamed = self._parts(column, {"dimension": dimensions})
            if unnamed is not None:
                _refuse_item(f"column '{column}'", unnamed["item"], self.layout, self.source)
            return None
        longest_parts = self._parts(column, {"dimension": dimensions, "item": items}, shortest=False)
        if longest_parts is not None and longest_parts != parts:
            ways = [
                ", ".join(f"{gap} '{text}'" for gap, text in way.items()) for way in (parts, longest_parts)
            ]
            raise InputError(
                f"{self.source}: column '{column}' can be read as {' or '.join(ways)}; name the dimensions "
                "with --dimensions wit,clarity or write more of the column names into --ratings."
            )
        return RatingColumn(column, **{"dimension": self.name, **parts})

    def refuse_no_match(self, columns: Sequence[str]) -> NoReturn:
        matches = [column for column in columns if self._parts(column, {}) is not None]
        if matches:
            raise InputError(
                f"{self.source}: columns such as '{matches[0]}' match --ratings '{self.text}', but none has "
                f"one of the dimensions {listed(self.layout.dimensions)}; correct --dimensions."
            )
        hint = did_you_mean(re.sub(r"\{(\w+)\}", "1", self.pattern), columns)
        raise InputError(
            f"{self.source}: no column matches --ratings '{self.text}'{hint}; write the names of the rating "
            f"columns with {{item}} and {{dimension}} where they differ (there are: {listed(columns)})."
        )
