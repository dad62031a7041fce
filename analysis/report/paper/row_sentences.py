"""A row of a result as a sentence that a paper states: its estimate, interval, p value and number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.schema import CHOICE_OUTCOMES

from ...figures.labels import ColumnNames, LabelKey, level_of, simulation_mark, words
from ...frames.kinds import kind_of
from ...frames.reported_intervals import draws_behind
from ...results import Result
from ..sentences.effect_sentences import RowEstimate, row_in_words

PLURAL = re.compile(r"\b([Ee]ffect|[Mm]ean|[Dd]ifference)s\b")
SAID = ("outcome", "statistic", "name", "estimand")  # columns that repeat the kind of result


def row_sentence(
    result: Result, row: int | None, columns: Mapping[str, object], labels: Mapping[LabelKey, str]
) -> str:
    """The sentence of a row, found by its place or by what stands in its columns."""
    frame = result.frame.reset_index(drop=True)
    if "estimate" not in frame:
        raise InputError(f"Results of the kind {result.kind} have no estimates to state; print the result.")
    place = _place(frame, row, columns)
    values = frame.iloc[place]
    subject = _subject(result, frame, values, labels)
    estimate = float(values["estimate"]) if pd.notna(values["estimate"]) else np.nan
    if np.isnan(estimate):
        return f"{subject} could not be estimated."
    if "std_error" in frame and estimate == 0 and pd.isna(values["std_error"]):
        return f"{subject}: this is the reference."
    name = next((name for name in ("p_adjusted", "p_holm", "p") if name in frame), "")
    p = float(values[name]) if name and pd.notna(values[name]) else np.nan
    n = (
        int(values["n"])
        if "n" in frame and pd.notna(values["n"])
        else int(result.settings.get("n_used") or 0)
    )
    outcome = str(values["outcome"]) if "outcome" in frame else ""
    lower, upper = (
        float(values[end]) if end in frame and pd.notna(values[end]) else np.nan for end in ("lower", "upper")
    )
    unit = "profiles" if outcome in CHOICE_OUTCOMES else "rows"
    statistic = str(values.get("statistic", ""))
    in_points = outcome in CHOICE_OUTCOMES and (
        statistic.startswith("amce") or statistic.endswith("difference")
    )
    level = level_of(result.settings)
    draws = draws_behind(result.settings, frame)
    text = row_in_words(
        RowEstimate(f"{subject}:", estimate, lower, upper, level, p, name != "p", n, unit, in_points, draws)
    )
    mark = simulation_mark(result.real_judges, ColumnNames(labels))
    return f"{text} {mark}." if mark else text


def _place(frame: pd.DataFrame, row: int | None, columns: Mapping[str, object]) -> int:
    """The place of the row that is asked for, and the only one."""
    if row is not None and columns:
        raise InputError("Name a row by its number or by what stands in its columns, not by both.")
    if row is not None:
        if not isinstance(row, int | np.integer) or not -len(frame) <= row < len(frame):
            raise InputError(f"There is no row {row!r}; the result has rows 0 to {len(frame) - 1}.")
        return int(row)
    matches = np.ones(len(frame), dtype=bool)
    for name, value in columns.items():
        if name not in frame:
            raise InputError(
                f"The result has no column {name!r}{did_you_mean(name, frame.columns)}; it has "
                f"{listed(frame.columns)}."
            )
        texts = frame[name].astype("string")
        matches &= (texts == str(value)).fillna(False).to_numpy(dtype=bool)
        if not matches.any():
            meant = did_you_mean(str(value), texts.dropna().unique())
            raise InputError(f"No row has {value!r} in column {name!r}{meant}.")
    places = np.flatnonzero(matches)
    if len(places) > 1:
        varying = [str(name) for name in frame if not is_numeric_dtype(frame[name])]
        varying = [name for name in varying if frame[name].iloc[places].nunique(dropna=False) > 1]
        raise InputError(f"{len(places)} rows are meant; name one by its number, or by {listed(varying)}.")
    return int(places[0])


def _subject(
    result: Result, frame: pd.DataFrame, values: pd.Series[Any], labels: Mapping[LabelKey, str]
) -> str:
    """What the row is about: the quantity, and what stands in its columns of words."""
    end = list(frame.columns).index("estimate")
    keys = [str(name) for name in frame.columns[:end] if not is_numeric_dtype(frame[name])]
    parts, compared = list[str](), ""
    for name in keys:
        text = "" if pd.isna(values[name]) else str(values[name])
        if name in SAID or not text or (name == "feature" and "level" in keys):
            continue
        if name == "level" and "feature" in keys:
            feature = str(values["feature"])
            heading = labels.get(feature, words(feature))
            parts.append(
                f"{heading}: {labels.get((feature, text), words(text))}{_reference(frame, values, labels)}"
            )
        elif name == "by":
            compared = text
            parts.append(text)
        elif text not in compared:
            parts.append(labels.get((name, text), words(text)))
    quantity = PLURAL.sub(r"\1", kind_of(result.kind).quantity) or words(result.kind)
    return f"{quantity}, {', '.join(parts)}" if parts else quantity


def _reference(frame: pd.DataFrame, values: pd.Series[Any], labels: Mapping[LabelKey, str]) -> str:
    """The level with which an effect compares, where the table has its row."""
    if "std_error" not in frame or pd.isna(values["std_error"]):
        return ""
    feature = str(values["feature"])
    of_feature = frame[(frame["feature"].astype(str) == feature) & frame["std_error"].isna()]
    of_feature = of_feature[of_feature["estimate"] == 0]
    if of_feature.empty:
        return ""
    level = str(of_feature["level"].iloc[0])
    return f" rather than {labels.get((feature, level), words(level))}"
