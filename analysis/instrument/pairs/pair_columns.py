"""Which columns of a table have the systems of a pair, the verdict in either order, people and lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.columns import as_text, plain
from conjury.inference.tables.items import PROMPT, item_column
from conjury.inference.tables.reading.table_reading import require_named

Names = tuple[str, ...]
SYSTEMS = (
    ("model a", "model b"), ("model 1", "model 2"), ("system a", "system b"), ("system 1", "system 2"),
    ("generator 1", "generator 2"), ("a", "b"),
)  # fmt: skip
BOTH_ORDERS = (
    ("ab", "ba"), ("g1 winner", "g2 winner"), ("winner ab", "winner ba"), ("verdict ab", "verdict ba"),
    ("judge ab", "judge ba"), ("choice ab", "choice ba"), ("original", "swapped"), ("given", "swapped"),
)  # fmt: skip
VERDICT = ("winner", "verdict", "choice", "preference", "preferred", "judge", "judgment", "label", "answer")
ONE_HOT = ("winner model a", "winner model b", "winner tie")
HUMAN = ("human", "people", "human winner", "winner human", "human verdict", "human choice", "human label")
LENGTHS = (
    ("len a", "len b"), ("length a", "length b"), ("a len", "b len"), ("a length", "b length"),
    ("tokens a", "tokens b"), ("words a", "words b"), ("chars a", "chars b"), ("length 1", "length 2"),
)  # fmt: skip
SWAPPED = ("swapped", "is swapped", "reversed", "is reversed", "flipped")
SHOWN_FIRST = ("order", "shown first", "first shown", "first", "first system", "first model", "first answer")
# Columns that may say which answer was shown first; their values decide.
ORDER = (*SWAPPED, *SHOWN_FIRST, "presentation order", "answer order", "order shown", "position", "positions")
ROUND = ("turn", "round")  # parts of one prompt that are judged apart
RATER = ("judge", "judge id", "rater", "annotator")


@dataclass(frozen=True)
class PairColumns:
    """Columns of a table of pairs; None or empty where there are none."""

    verdict: Names  # one, or two: the answer in column a shown first, and shown second; three truth values
    systems: tuple[str, str] | None = None  # of which the first is shown first, unless `swapped` says so
    human: Names = ()
    lengths: tuple[str, str] | None = None
    swapped: str | None = None
    id: str | None = None
    round: str | None = None
    judge_names: str | None = None
    people: Names = ()  # values of `judge_names` that are people
    by: Names = ()  # subgroups
    guesses: Names = ()  # in words
    swapped_value: str | None = None  # of `swapped`, where the second answer was shown first

    @property
    def named(self) -> Names:
        """All columns that contain answers of judges or of people."""
        return (*self.verdict, *self.human)


def find_columns(
    frame: pd.DataFrame, columns: PairColumns, source: str, strict: bool, *, of_people: bool = False
) -> PairColumns:
    """Complete the columns that a user named by those whose names leave no doubt."""
    columns = _with_value(frame, columns)
    refuse_absent(frame, columns, source)
    by_name: dict[str, str] = {}
    for name in map(str, frame):
        by_name.setdefault(plain(name), name)
    guesses: list[str] = []

    def pick(candidates: Iterable[Sequence[str]], what: str) -> Names:
        role_columns = {
            *columns.named,
            *(columns.systems or ()),
            *(columns.lengths or ()),
            columns.judge_names,
            columns.swapped,
            columns.id,
        }
        for names in candidates:
            places = tuple(by_name[name] for name in names if name in by_name)
            if len(places) == len(names) and not role_columns & set(places):
                guesses.append(f"{what}: {' and '.join(places)}")
                return places
        return ()

    verdict = columns.verdict
    if not verdict:
        singles = [(name,) for name in VERDICT]
        people = [(name,) for name in HUMAN] if of_people else []
        verdict = pick((*people, *BOTH_ORDERS, ONE_HOT, *singles), "verdicts")
    if not verdict:
        raise InputError(
            f"{source}: no column of verdicts is known by its name; name it with --judge COLUMN, or with "
            f"--judge COLUMN,COLUMN for both orders; there are {listed(frame.columns)}."
        )
    columns = replace(columns, verdict=verdict)
    systems = columns.systems or _two(pick(SYSTEMS, "systems"))
    columns = replace(columns, systems=systems)
    lengths = columns.lengths or _two(pick(LENGTHS, "lengths"))
    human = columns.human or (
        () if columns.people or of_people else pick([(name,) for name in HUMAN], "people")
    )
    swapped = columns.swapped
    if swapped is None and len(verdict) != 2:
        names = (name for name in ORDER if name in SWAPPED or _says_order(frame, by_name.get(name)))
        swapped = next(iter(pick([(name,) for name in names], "order")), None)
    columns = replace(
        columns,
        lengths=lengths,
        human=human,
        swapped=swapped,
        id=columns.id
        or item_column(frame)
        or next(iter(pick([(name,) for name in PROMPT], "prompts")), None),
        round=next((by_name[name] for name in ROUND if name in by_name), None),
    )
    if strict and guesses:
        raise InputError(f"{source}: {guesses[0]} is a guess, and --strict allows none; name the columns.")
    if not of_people:
        _refuse_several_raters(frame, columns, by_name, source)
    return replace(columns, guesses=tuple(guesses))


def refuse_absent(frame: pd.DataFrame, columns: PairColumns, source: str) -> None:
    """Refuse a column that is named and absent, and one that has two roles."""
    options = {
        "--judge": columns.verdict, "--systems-in": columns.systems or (), "--human": columns.human,
        "--lengths": columns.lengths or (), "--swapped": (columns.swapped,), "--id": (columns.id,),
        "--judge-names": (columns.judge_names,),
    }  # fmt: skip
    named = [(name, option) for option, names in options.items() for name in names if name is not None]
    require_named(frame, dict([*named, *((name, "--by") for name in columns.by)]), source)
    option_of: dict[str, str] = {}
    for name, option in named:
        if name in option_of:
            raise InputError(
                f"{source}: column '{name}' is named by {option_of[name]} and by {option}; name it once."
            )
        option_of[name] = option
    if len(columns.verdict) not in (0, 1, 2):
        raise InputError("--judge names more than two columns; give one, or those of both orders.")
    if columns.people and columns.judge_names is None:
        raise InputError(
            "--people-names are values of a column; name it, as --judge-names judge --people-names ann."
        )


def _with_value(frame: pd.DataFrame, columns: PairColumns) -> PairColumns:
    """The columns with the value of COLUMN=VALUE apart."""
    name, equals, value = (columns.swapped or "").partition("=")
    if not equals or columns.swapped in frame:
        return columns
    return replace(columns, swapped=name.strip(), swapped_value=value)


def _says_order(frame: pd.DataFrame, name: str | None) -> bool:
    """Whether a column has one value or two, as those have that say which answer was shown first."""
    return name is not None and 0 < as_text(frame[name]).str.strip().str.casefold().nunique() <= 2


def _two(names: Names) -> tuple[str, str] | None:
    return (names[0], names[1]) if names else None


def _refuse_several_raters(
    frame: pd.DataFrame, columns: PairColumns, by_name: dict[str, str], source: str
) -> None:
    """Refuse verdicts of several judges, which may be people among them, in one column."""
    if columns.judge_names is not None:
        return
    role_columns = {*columns.named, *(columns.systems or ()), columns.id}
    for name in (by_name[name] for name in RATER if name in by_name):
        values = frame[name].dropna().astype("string").unique().tolist()
        if name not in role_columns and len(values) > 1:
            raise InputError(
                f"{source}: column '{name}' names {len(values):,} judges ({listed(values, 4)}); take "
                f"one with --where {name}={values[0]}, all together with --judge-names {name}, or name those "
                "who are people with --people-names, too."
            )
