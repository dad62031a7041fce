"""Which columns of an export hold ratings: patterns with named gaps, such as ``Q{item}_{dimension}``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pandas as pd

from ..errors import InputError
from ..tables.columns import did_you_mean, listed
from .texts import read_text_table, require_column

GAPS = ("item", "dimension", "place", "sample", "judge")
NUMBERED = ("place", "sample")


@dataclass(frozen=True)
class Layout:
    """What the columns of an export are; what is not named is taken from the program's own columns.

    Attributes
    ----------
    ratings : sequence of str
        Patterns of rating columns, with ``{item}``, ``{dimension}``, ``{place}`` (a number by which
        ``item`` finds the column that names the item), ``{sample}`` or ``{judge}``; as ``NAME=PATTERN``
        where the pattern holds no dimension.
    value : mapping
        Rating columns by the dimension they hold, for tables with one row a rating.
    dimension, item, judge, sample, panel, duration, person : str, optional
        Columns of each row; ``item`` may hold ``{place}``, and ``person`` is the id of people elsewhere.
    dimensions, items : mapping
        Ids by the words of the export. Only the dimensions named are read.
    covariates : sequence of str
        Columns of the person to keep.
    kind : str, optional
        Column that says whether a judge is a person or a model.
    models : sequence of str
        Judges that are models.
    people : bool
        Whether all judges are people.
    all_shown : bool
        Whether an item without any rating by a person is missing, and not unseen.
    encoding, delimiter, timezone : str, optional
        How the file is written.
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
    encoding: str | None = None
    delimiter: str | None = None
    timezone: str | None = None


@dataclass(frozen=True)
class Place:
    """A column of ratings, and what its name says; None where the name does not say it."""

    column: str
    dimension: str | None = None
    item: str | None = None
    place: str | None = None
    sample: str | None = None
    judge: str | None = None


def find_places(table: pd.DataFrame, layout: Layout, ignored: set[str], source: str) -> list[Place]:
    """Find the rating columns of a table by the patterns of a layout.

    Parameters
    ----------
    ignored : columns that hold no ratings whatever their names

    Raises
    ------
    InputError
        A pattern is wrong, matches no column, or can be read in several ways.

    Examples
    --------
    >>> table = pd.DataFrame(columns=["id", "Q1_wit", "Q1_clarity", "Q2_wit"])
    >>> layout = Layout(ratings=["Q{item}_{dimension}"])
    >>> [(place.item, place.dimension) for place in find_places(table, layout, set(), "export.csv")]
    [('1', 'wit'), ('1', 'clarity'), ('2', 'wit')]
    """
    columns = [str(name) for name in table if str(name) not in ignored]
    places: list[Place] = []
    for text in layout.ratings:
        name, pattern = _named(text)
        parts = _parts(pattern)
        _check_gaps(text, name, parts)
        found = [place for column in columns if (place := _read(column, name, parts, layout, source))]
        if not found:
            _refuse_no_match(text, pattern, columns, layout, source)
        places += found
    _refuse_twice(places, source)
    _refuse_unused(places, layout, source)
    return places


def told_odd(places: Sequence[Place], layout: Layout) -> list[str]:
    """Name columns whose dimension is that of a single item, while other dimensions have several items.

    Examples
    --------
    >>> places = [Place("Q1_wit", "wit", "1"), Place("Q2_wit", "wit", "2"), Place("Q2_age", "age", "2")]
    >>> told_odd(places, Layout())[0].partition(";")[0]
    "Read as a rating, unlike other columns: Q2_age (dimension 'age' of item '2' alone)"
    """
    items: dict[str, set[str]] = {}
    for place in places:
        key = place.item or place.place
        if place.dimension is not None and key is not None:
            items.setdefault(place.dimension, set()).add(key)
    alone = {name for name, held in items.items() if len(held) == 1}
    if layout.dimensions or not alone or len(alone) == len(items):
        return []
    odd = [
        f"{place.column} (dimension '{place.dimension}' of item '{place.item or place.place}' alone)"
        for place in places
        if place.dimension in alone
    ]
    several = len(odd) > 1
    return [
        f"Read as {'ratings' if several else 'a rating'}, unlike other columns: {listed(odd, 6)}; if "
        f"{'these are' if several else 'it is'} none, name the dimensions that are, as --dimensions "
        f"{','.join(name for name in items if name not in alone)}."
    ]


def read_names(text: str | None, option: str) -> dict[str, str]:
    """Read ids by the words of an export, as ``a,b``, ``1=a,2=b``, or a CSV with ``key`` and ``item_id``.

    Examples
    --------
    >>> read_names("1=wit,2=clarity", "--dimensions")
    {'1': 'wit', '2': 'clarity'}
    """
    if text is None:
        return {}
    if text.lower().endswith((".csv", ".tsv", ".csv.gz")):
        table = read_text_table(text)
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
            raise InputError(f"{option} '{text}': entry {row} names '{key}' again; name each once.")
        named[str(key)] = str(name)
    return named


def _named(text: str) -> tuple[str | None, str]:
    name, equals, pattern = text.partition("=")
    return (name.strip(), pattern) if equals and "{" not in name else (None, text)


def _parts(pattern: str) -> list[tuple[str, bool]]:
    """Split a pattern into literal texts and names of gaps (true)."""
    pieces = re.split(r"\{([^{}]*)\}", pattern)
    return [(piece, bool(place % 2)) for place, piece in enumerate(pieces) if piece or place % 2]


def _check_gaps(text: str, name: str | None, parts: Sequence[tuple[str, bool]]) -> None:
    gaps = [part for part, is_gap in parts if is_gap]
    for gap in gaps:
        if gap not in GAPS:
            raise InputError(
                f"--ratings '{text}' holds {{{gap}}}{did_you_mean(gap, GAPS)}; use "
                f"{listed('{' + known + '}' for known in GAPS)}."
            )
    if len(set(gaps)) < len(gaps):
        raise InputError(f"--ratings '{text}' holds a placeholder twice; write each once.")
    if any(first[1] and second[1] for first, second in pairwise(parts)):
        raise InputError(f"--ratings '{text}' has two placeholders side by side; put the text between them.")
    if name is not None and "dimension" in gaps:
        raise InputError(
            f"--ratings '{text}' names a dimension and holds {{dimension}}; keep one of the two."
        )
    if any("{" in part or "}" in part for part, is_gap in parts if not is_gap):
        raise InputError(f"--ratings '{text}' has a single brace; write placeholders such as {{item}}.")


def _read(
    column: str, name: str | None, parts: Sequence[tuple[str, bool]], layout: Layout, source: str
) -> Place | None:
    """What a column name says by a pattern; None where it does not match."""
    readings = [
        reading
        for reading in _readings(column, parts)
        if not layout.dimensions or reading.get("dimension", name) in layout.dimensions
    ]
    if not readings:
        return None
    if layout.items and "item" in readings[0]:
        unnamed = readings[0]["item"]
        readings = [reading for reading in readings if reading["item"] in layout.items]
        if not readings:
            raise InputError(
                f"{source}: column '{column}' holds item '{unnamed}', which --items does not name"
                f"{did_you_mean(unnamed, layout.items)}; add it."
            )
    if len(readings) > 1:
        ways = " or ".join(
            ", ".join(f"{gap} '{text}'" for gap, text in reading.items()) for reading in readings[:2]
        )
        raise InputError(
            f"{source}: column '{column}' can be read as {ways}; name the dimensions with --dimensions "
            "wit,clarity or write more of the column names into --ratings."
        )
    reading = readings[0]
    dimension = name if name is not None else reading.pop("dimension", None)
    return Place(column, dimension, **reading)


def _readings(text: str, parts: Sequence[tuple[str, bool]]) -> Iterator[dict[str, str]]:
    """Every way in which a column name fills the gaps of a pattern."""
    if not parts:
        if not text:
            yield {}
        return
    (part, is_gap), rest = parts[0], parts[1:]
    if not is_gap:
        if text.startswith(part):
            yield from _readings(text[len(part) :], rest)
        return
    for end in range(1, len(text) + 1):
        filled = text[:end]
        if part in NUMBERED and not filled.isdecimal():
            return
        if rest or end == len(text):
            for others in _readings(text[end:], rest):
                yield {part: filled, **others}


def _refuse_no_match(text: str, pattern: str, columns: Sequence[str], layout: Layout, source: str) -> None:
    parts = _parts(pattern)
    others = [column for column in columns if any(True for _ in _readings(column, parts))]
    if others:
        raise InputError(
            f"{source}: columns such as '{others[0]}' match --ratings '{text}', but none holds one of the "
            f"dimensions {listed(layout.dimensions)}; correct --dimensions."
        )
    hint = did_you_mean(re.sub(r"\{(\w+)\}", "1", pattern), columns)
    raise InputError(
        f"{source}: no column matches --ratings '{text}'{hint}; write the names of the rating columns with "
        f"{{item}} and {{dimension}} where they differ (there are: {listed(columns)})."
    )


def _refuse_twice(places: Sequence[Place], source: str) -> None:
    seen: set[str] = set()
    for place in places:
        if place.column in seen:
            raise InputError(
                f"{source}: column '{place.column}' matches two patterns of --ratings; make them differ."
            )
        seen.add(place.column)


def _refuse_unused(places: Sequence[Place], layout: Layout, source: str) -> None:
    held = {place.dimension for place in places}
    for name in layout.dimensions:
        if places and None not in held and name not in held:
            hint = did_you_mean(name, [text for text in held if text])
            raise InputError(
                f"{source}: no rating column holds dimension '{name}'{hint}; correct --dimensions (there "
                f"are: {listed(sorted(text for text in held if text))})."
            )


def renamed(long: pd.DataFrame, layout: Layout, source: str) -> pd.DataFrame:
    """Items and dimensions by the ids that the layout gives them."""
    if layout.dimensions:
        known = long["dimension"].isin(list(layout.dimensions))
        if not known.any():
            raise InputError(
                f"{source}: no row holds one of the dimensions {listed(layout.dimensions)}; correct "
                f"--dimensions (there are: {listed(long['dimension'].unique())})."
            )
        long = long[known].reset_index(drop=True)
        long["dimension"] = long["dimension"].map(dict(layout.dimensions))
    if layout.items:
        named = long["item_id"].map(dict(layout.items))
        unknown = (named.isna() & long["item_id"].notna()).to_numpy()
        if unknown.any():
            at = int(unknown.argmax())
            word = str(long["item_id"].iloc[at])
            raise InputError(
                f"{source}: row {long['row'].iloc[at]} holds item '{word}', which --items does not name"
                f"{did_you_mean(word, layout.items)}; add it."
            )
        long["item_id"] = named
    return long
