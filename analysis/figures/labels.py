"""Labels of attributes, levels and judges, their order, and the series of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError

LabelKey = str | tuple[str, str]
SERIES_COLUMNS = ("judge", "judge_id", "prompt", "prompt_id", "variant", "engine", "source")
CAPITALISED = {"black": "Black", "white": "White"}


def true_minus(text: str) -> str:
    """Put a minus sign where a hyphen stands before a number, not within names, ranges and options."""
    return re.sub(r"(?<![\w.\]\)-])-(?=\.?\d)", "\N{MINUS SIGN}", text)


def words(name: object) -> str:
    """Turn an identifier into words: ``black_male`` becomes ``Black male``."""
    text = " ".join(CAPITALISED.get(part, part) for part in str(name).replace("_", " ").split())
    return text[:1].upper() + text[1:]


class Labels:
    """Labels of features and levels, with words made from the identifiers where none is given."""

    def __init__(self, given: Mapping[LabelKey, str] | None = None) -> None:
        self._given = dict(given or {})

    def feature(self, feature: object) -> str:
        """Label of an attribute."""
        return self._given.get(str(feature), words(feature))

    def level(self, feature: object, level: object) -> str:
        """Label of a level of an attribute."""
        return self._given.get((str(feature), str(level)), words(level))

    def both(self, feature: object, level: object) -> str:
        """Label of a level with its attribute in front, unless the level names it already."""
        owner, own = self.feature(feature), self.level(feature, level)
        return own if own.lower().startswith(owner.lower()) else f"{owner}: {own}"


def display_order(column: pd.Series[Any]) -> list[str]:
    """Distinct values in display order: category order where there is one, else first seen."""
    present = [str(value) for value in column.dropna().unique()]
    if isinstance(column.dtype, pd.CategoricalDtype):
        order = [str(value) for value in column.cat.categories]
        return [value for value in order if value in set(present)]
    return present


def series_labels(
    frame: pd.DataFrame, group: str | None = None, label: Callable[[str, str], str] | None = None
) -> pd.Series[Any]:
    """Name the series (judge, prompt, engine, ...) of every row of stacked estimates.

    ``label`` turns a column and an identifier into words.

    Without ``group``, the known columns that are needed to tell the rows apart take part.
    """
    if group is not None:
        if group not in frame.columns:
            raise InputError(
                f"The table has no column {group!r} to group by; it has: "
                f"{', '.join(map(str, frame.columns))}."
            )
        return frame[group].astype("string").fillna("")
    telling: list[str] = []
    for name in (column for column in SERIES_COLUMNS if column in frame.columns):
        before = len(frame[telling].drop_duplicates()) if telling else 1
        if len(frame[[*telling, name]].drop_duplicates()) > before:
            telling.append(name)
    parts = [frame[name].astype("string").fillna("").map(str) for name in telling]
    if label is not None:
        parts = [
            part.map(lambda text, name=name: text and label(name, text))
            for name, part in zip(telling, parts, strict=True)
        ]
    joined = [", ".join(filter(None, values)) for values in zip(*parts, strict=True)] if parts else ""
    return pd.Series(joined, index=frame.index, dtype="string")


def refuse_repeats(
    keys: pd.DataFrame, remedy: str = "name the column that tells the rows apart with group="
) -> None:
    """Raise InputError where two rows of a table to draw have the same keys."""
    repeated = keys.duplicated()
    if repeated.any():
        where = ", ".join(filter(None, keys[repeated].astype("string").fillna("").iloc[0]))
        raise InputError(f"{where} occurs more than once; {remedy}.")


def one_prompt(frame: pd.DataFrame, prompt: str | None = None) -> pd.DataFrame:
    """Keep one prompt per judge: ``prompt``, else ``baseline``, else the judge's first."""
    if "prompt" not in frame.columns:
        return frame
    found = frame["prompt"].astype("string").fillna("")
    if prompt is not None:
        return frame[found.isin(["", prompt]).to_numpy(bool)]
    judge = frame["judge"].astype("string") if "judge" in frame.columns else found.map(lambda _: "")
    chosen = {
        name: "baseline" if (names == "baseline").any() else names.iloc[0]
        for name, names in found.groupby(judge, sort=False)
    }
    return frame[(found == judge.map(chosen)).to_numpy(bool)]
