"""Reference tables computed by cregg 0.4.0, each with the data and the call that made it.

The tables lie in a folder that is not part of the repository; tests that use them carry the
marker ``shared`` and are skipped where it is absent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from shared_folder import REPOSITORY, SHARED

from conjury.analysis.conjoint.engines.cregg import COLUMN_NAMES

GOLDEN = SHARED / "cregg" / "golden"

NUMBERS = ("estimate", "std_error", "z", "p", "lower", "upper", "proportion")
ANOVA_COLUMNS = ("resid_df", "resid_dev", "df", "deviance", "f", "p")


class GoldenCall(NamedTuple):
    """One call of cregg: what to run, on which data, and the table it gave (columns renamed as ours)."""

    verb: str
    data: pd.DataFrame
    formula: str | None
    options: dict[str, Any]
    expected: pd.DataFrame


# --- data sets -----------------------------------------------------------------------------------


@cache
def _columns(name: str) -> dict[str, Any]:
    text = (SHARED / "cregg" / "data" / f"{name}.levels.json").read_text(encoding="utf-8")
    return dict(json.loads(text)["columns"])


def _typed(frame: pd.DataFrame, levels: dict[str, list[str]]) -> pd.DataFrame:
    for name in frame.columns:
        if name in levels:
            known = frame[name].where(frame[name].isin(levels[name]), None)
            frame[name] = pd.Categorical(known, categories=levels[name])
        else:
            frame[name] = pd.to_numeric(frame[name].replace({"": None, "NA": None}))
    return frame


def _cregg_data(name: str) -> pd.DataFrame:
    path = SHARED / "cregg" / "data" / f"{name}.csv.gz"
    frame = pd.read_csv(path, dtype=object, keep_default_na=False)
    return _typed(frame, {key: found["levels"] for key, found in _columns(name).items() if found["levels"]})


def _labels(name: str) -> dict[str, str]:
    return {key: found["label"] for key, found in _columns(name).items() if found["label"]}


@cache
def immigration() -> pd.DataFrame:
    """cregg's immigration data with the derived factors ``contest_f``, ``ethno_f``, ``language_entry``."""
    frame = _cregg_data("immigration")
    contests = sorted(frame["contest_no"].unique())
    frame["contest_f"] = pd.Categorical(
        frame["contest_no"].astype(str), categories=[str(n) for n in contests]
    )
    high = np.where(frame["ethnocentrism"] > 50, "high", "low")
    ethno = pd.Series(high, dtype=object).where(frame["ethnocentrism"].notna(), None)
    frame["ethno_f"] = pd.Categorical(ethno, categories=["low", "high"])
    language, entry = frame["LanguageSkills"], frame["PriorEntry"]
    crossed = [f"{a}_{b}" for b in entry.cat.categories for a in language.cat.categories]
    joined = language.astype(str) + "_" + entry.astype(str)
    frame["language_entry"] = pd.Categorical(joined, categories=crossed)
    return frame


@cache
def taxes() -> pd.DataFrame:
    """cregg's taxes data; ``partyid`` has missing values."""
    return _cregg_data("taxes")


@cache
def wide_conjoint() -> pd.DataFrame:
    """cregg's wide example: one row a respondent, four tasks of two profiles."""
    return _cregg_data("wide_conjoint")


@cache
def long_conjoint() -> pd.DataFrame:
    """The wide example made long by ``cj_tidy``, with ``chosen`` 0/1 added."""
    frame = golden_frame("wide_cj_tidy")
    first, second = frame["profile"] == "A", frame["profile"] == "B"
    chosen = (first & (frame["choice"] == 1)) | (second & (frame["choice"] == 2))
    return frame.assign(chosen=chosen.astype(int))


@cache
def gemini(variant: str = "") -> pd.DataFrame:
    """60,000 rows of forced choices by Gemini 2.5 Flash; ``variant`` "_aspublished" is the printed join."""
    folder = SHARED / "data" / "moderation"
    levels = json.loads((folder / "gemini_levels.json").read_text(encoding="utf-8"))["factor_levels"]
    path = folder / f"gemini_baseline_flash{variant}.csv.gz"
    frame = pd.read_csv(path, dtype=object, keep_default_na=False)
    return _typed(frame, {**levels, "profile": ["A", "B"]})


@cache
def gemini_two_prompts() -> pd.DataFrame:
    """The same 30,000 pairs under the baseline and the debiasing prompt, 120,000 rows."""
    prompts = ["baseline", "debiasing"]
    wanted = [("model", "==", "gemini_2_5_flash"), ("prompt", "in", prompts)]
    frame = pd.read_parquet(SHARED / "data" / "moderation" / "gemini_long.parquet", filters=wanted)
    frame["prompt"] = frame["prompt"].astype(object)
    frame["prompt"] = pd.Categorical(frame["prompt"], categories=prompts)
    frame["chosen"] = frame["chosen"].astype("int64")
    return frame.sort_values("prompt", kind="stable", ignore_index=True)


# --- the calls -----------------------------------------------------------------------------------

Call = tuple[str, Callable[[], pd.DataFrame], str | None, dict[str, Any]]

DATA: dict[str, Callable[[], pd.DataFrame]] = {
    "immigration": immigration,
    "immigration_with_ethno": lambda: immigration().dropna(subset=["ethno_f"]),
    "taxes": taxes,
    "taxes_with_party": lambda: taxes().dropna(subset=["partyid"]),
    "wide_conjoint": wide_conjoint,
    "long_conjoint": long_conjoint,
    "gemini": gemini,
    "gemini_as_published": lambda: gemini("_aspublished"),
    "gemini_two_prompts": gemini_two_prompts,
}
WRITTEN = yaml.safe_load(
    (REPOSITORY / "tests" / "fixtures" / "golden_calls.yaml").read_text(encoding="utf-8")
)
CALLS: dict[str, Call] = {
    name: (verb, DATA[data], WRITTEN["formulas"].get(formula, formula), options)
    for name, (verb, data, formula, options) in WRITTEN["calls"].items()
}
NAMES = tuple(CALLS)
UNLABELLED_VERBS = ("cj_props", "cj_anova", "cj_tidy")


def golden_frame(name: str) -> pd.DataFrame:
    """Read one reference table: our column names, factors with their level order, numbers as float."""
    frame = pd.read_csv(GOLDEN / f"{name}.csv", dtype=object, keep_default_na=False)
    made = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    levels = {
        COLUMN_NAMES.get(key, key): found if isinstance(found, list) else [found]
        for key, found in made.get("factor_levels", {}).items()
    }
    frame = frame.rename(columns=COLUMN_NAMES)
    numbers = {*NUMBERS, *ANOVA_COLUMNS} if "resid_df" in frame else set(NUMBERS)
    for column in frame.columns:
        if column in levels:
            frame[column] = pd.Categorical(frame[column], categories=levels[column])
        elif column in numbers or name == "wide_cj_tidy":
            frame[column] = pd.to_numeric(frame[column].replace({"": None, "NA": None}))
    if "cj_table" in name:
        frame["reference"] = frame["reference"] == "TRUE"
    return frame


def golden_call(name: str) -> GoldenCall:
    """The call behind one reference table, with cregg's label attributes given as ``feature_labels``.

    The feature whose reference ``amce_by_reference`` changes has lost its label in cregg's table.
    """
    verb, data, formula, options = CALLS[name]
    options = dict(options)
    dataset = name.partition("_")[0]
    if (
        dataset in ("immigration", "taxes")
        and verb not in UNLABELLED_VERBS
        and "feature_labels" not in options
    ):
        options["feature_labels"] = {
            key: label
            for key, label in _labels(dataset).items()
            if formula and key in _names(formula) and key != options.get("variable")
        }
    return GoldenCall(verb, data(), formula, options, golden_frame(name))


def _names(formula: str) -> set[str]:
    return set(formula.partition("~")[2].replace("+", " ").replace("*", " ").split())


def key_columns(frame: pd.DataFrame) -> list[str]:
    """The columns that identify a row: all but the numbers."""
    return [name for name in frame.columns if name not in {*NUMBERS, *ANOVA_COLUMNS}]


def assert_matches(
    found: pd.DataFrame, expected: pd.DataFrame, rtol: float = 1e-8, atol: float = 0.0
) -> None:
    """Compare two tables by key, whatever their row order: numbers to ``rtol``, missing values in place.

    ``atol`` lets pass what is zero but for the order of additions; p values are compared without it.
    """
    keys = key_columns(expected)
    assert set(expected.columns) <= set(found.columns), (
        f"missing: {set(expected.columns) - set(found.columns)}"
    )
    assert len(found) == len(expected)
    left, right = (_sorted_by_key(frame, keys) for frame in (found, expected))
    for key in keys:
        assert left[key].tolist() == right[key].tolist(), f"keys differ in column {key}"
    for name in expected.columns.difference(keys, sort=False):
        assert_numbers_agree(left[name], right[name], name, rtol, atol)


def assert_numbers_agree(
    found: pd.Series, expected: pd.Series, name: str, rtol: float = 1e-8, atol: float = 0.0
) -> None:
    """Compare two columns row by row; p values to ``rtol`` alone, those below 1e-300 counting as equal."""
    ours, theirs = (column.to_numpy(float, na_value=np.nan) for column in (found, expected))
    if name == "p":
        ours, theirs, atol = np.maximum(ours, 1e-300), np.maximum(theirs, 1e-300), 0.0
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, err_msg=name)


def _sorted_by_key(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    if not keys:
        return frame.reset_index(drop=True)
    plain = frame.assign(**{key: frame[key].astype(str) for key in keys})
    return plain.sort_values(keys, kind="stable", ignore_index=True)
