"""Reference tables computed by cregg 0.4.0, each with the data and the call that made it.

The tables lie in a folder that is not part of the repository; tests that use them carry the
marker ``shared`` and are skipped where it is absent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from conjury.analysis.conjoint.engines.cregg import COLUMN_NAMES

REPOSITORY = Path(__file__).resolve().parents[2]


def _find_shared() -> Path:
    named = os.environ.get("CONJURY_SHARED")
    candidates = [Path(named)] if named else [REPOSITORY / "shared", REPOSITORY.parent / "shared"]
    return next((folder for folder in candidates if (folder / "cregg" / "golden").is_dir()), candidates[-1])


SHARED = _find_shared()
GOLDEN = SHARED / "cregg" / "golden"
AVAILABLE = GOLDEN.is_dir()

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


def _immigration_with_ethno() -> pd.DataFrame:
    return immigration().dropna(subset=["ethno_f"])


@cache
def taxes() -> pd.DataFrame:
    """cregg's taxes data; ``partyid`` has missing values."""
    return _cregg_data("taxes")


def _taxes_with_party() -> pd.DataFrame:
    return taxes().dropna(subset=["partyid"])


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


def _gemini_as_published() -> pd.DataFrame:
    return gemini("_aspublished")


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


# --- formulas ------------------------------------------------------------------------------------

SHORT = "ChosenImmigrant ~ Gender + Education + LanguageSkills"
FULL = SHORT + " + CountryOfOrigin + Job + JobExperience + JobPlans + ReasonForApplication + PriorEntry"
RESTRICTED = (
    "ChosenImmigrant ~ Gender + Education * Job + LanguageSkills + CountryOfOrigin * ReasonForApplication"
    " + JobExperience + JobPlans + PriorEntry"
)
TWO = "ChosenImmigrant ~ LanguageSkills + Education"
TAXES = "chose_plan ~ " + " + ".join([f"taxrate{k}" for k in range(1, 7)] + ["taxrev"])
GEMINI = "chosen ~ slur + identity + topic + reply + curse + engagement"
GEMINI_WITHOUT_IDENTITY = "chosen ~ slur + topic + reply + curse + engagement"

PROFILE_VARIABLES = {
    **{
        f"feature{k}": [[f"feature{k}{task}{profile}" for task in "abcd"] for profile in (1, 2)]
        for k in (1, 2, 3)
    },
    "rating": [[f"rating_{task}{profile}" for task in "abcd"] for profile in (1, 2)],
}
TASK_VARIABLES = {name: [f"{name}_{task}" for task in "abcd"] for name in ("choice", "timing")}

# --- the calls -----------------------------------------------------------------------------------

Call = tuple[str, Callable[[], pd.DataFrame], str | None, dict[str, Any]]


def _call(verb: str, data: Callable[[], pd.DataFrame], formula: str, **options: Any) -> Call:
    return verb, data, formula, options


CASE = {"id": "CaseID"}
TAXPAYER = {"id": "ID"}
PAIR = {"id": "pair_id"}
OWN_LABELS = {"Gender": "Sex", "Education": "Schooling", "LanguageSkills": "English"}
FEATURE_ORDER = ["LanguageSkills", "Gender", "Education"]
SIMPLE_RESTRICTED = "ChosenImmigrant ~ Gender + ReasonForApplication * CountryOfOrigin"
BALANCE = "ethnocentrism ~ Gender + Education + LanguageSkills"
REASON_COUNTRY = "~ ReasonForApplication + CountryOfOrigin"
FEATURES = "~ Gender + Education + LanguageSkills"
GEMINI_BY_TOPIC = "chosen ~ slur + identity + reply + curse + engagement"
GEMINI_CROSSED = "chosen ~ slur * identity + topic + reply + curse + engagement"
GEMINI_ORDER = ["identity", "slur", "engagement", "curse", "reply", "topic"]

CALLS: dict[str, Call] = {
    "immigration_amce_noid": _call("amce", immigration, FULL),
    "immigration_amce_id": _call("amce", immigration, FULL, **CASE),
    "immigration_amce_id_alpha10": _call("amce", immigration, FULL, alpha=0.1, **CASE),
    "immigration_amce_id_descending": _call("amce", immigration, FULL, level_order="descending", **CASE),
    "immigration_amce_id_feature_order": _call(
        "amce", immigration, SHORT, feature_order=FEATURE_ORDER, **CASE
    ),
    "immigration_amce_id_feature_labels": _call(
        "amce", immigration, SHORT, feature_labels=OWN_LABELS, **CASE
    ),
    "immigration_amce_constrained_simple": _call("amce", immigration, SIMPLE_RESTRICTED, **CASE),
    "immigration_amce_constrained_full": _call("amce", immigration, RESTRICTED, **CASE),
    "immigration_amce_constrained_full_noid": _call("amce", immigration, RESTRICTED),
    "immigration_amce_balance_na_outcome": _call("amce", immigration, BALANCE, **CASE),
    "immigration_amce_balance_subset": _call("amce", _immigration_with_ethno, BALANCE, **CASE),
    "immigration_mm_noid": _call("mm", immigration, FULL),
    "immigration_mm_id": _call("mm", immigration, FULL, **CASE),
    "immigration_mm_id_h0": _call("mm", immigration, FULL, h0=0.5, **CASE),
    "immigration_mm_na_outcome": _call("mm", immigration, "ethnocentrism ~ Gender + Education", **CASE),
    "immigration_mm_interaction_factor": _call(
        "mm", immigration, "ChosenImmigrant ~ language_entry", h0=0.5, **CASE
    ),
    "immigration_amce_diffs_gender": _call("amce_diffs", immigration, TWO, by="Gender", **CASE),
    "immigration_amce_diffs_gender_noid": _call("amce_diffs", immigration, TWO, by="Gender"),
    "immigration_amce_diffs_contest": _call("amce_diffs", immigration, SHORT, by="contest_f", **CASE),
    "immigration_amce_diffs_ethno": _call("amce_diffs", immigration, SHORT, by="ethno_f", **CASE),
    "immigration_mm_diffs_gender": _call("mm_diffs", immigration, TWO, by="Gender", **CASE),
    "immigration_mm_diffs_contest": _call("mm_diffs", immigration, SHORT, by="contest_f", **CASE),
    "immigration_mm_diffs_ethno_h0_alpha10": _call(
        "mm_diffs", immigration, SHORT, by="ethno_f", alpha=0.1, h0=0.1, **CASE
    ),
    "immigration_cj_by_contest_amce": _call(
        "cj", immigration, SHORT, estimate="amce", by="contest_f", **CASE
    ),
    "immigration_cj_by_contest_mm": _call(
        "cj", immigration, SHORT, estimate="mm", by="contest_f", h0=0.5, **CASE
    ),
    "immigration_amce_by_reference_language": _call(
        "amce_by_reference", immigration, TWO, variable="LanguageSkills", **CASE
    ),
    "immigration_cj_freqs": _call("cj_freqs", immigration, FEATURES, **CASE),
    "immigration_cj_props_job_education": _call("cj_props", immigration, "~ Job + Education", **CASE),
    "immigration_cj_props_reason_country": _call("cj_props", immigration, REASON_COUNTRY, **CASE),
    "immigration_cj_props_reason_country_margin1": _call(
        "cj_props", immigration, REASON_COUNTRY, margin=1, **CASE
    ),
    "immigration_cj_table": _call("cj_table", immigration, FEATURES, include_reference=True),
    "immigration_cj_anova_contest": _call("cj_anova", immigration, SHORT, by="contest_f"),
    "immigration_cj_anova_ethno": _call("cj_anova", _immigration_with_ethno, SHORT, by="ethno_f"),
    "taxes_amce_noid": _call("amce", taxes, TAXES),
    "taxes_amce_id": _call("amce", taxes, TAXES, **TAXPAYER),
    "taxes_amce_weights": _call("amce", taxes, TAXES, weights="weight"),
    "taxes_amce_id_weights": _call("amce", taxes, TAXES, weights="weight", **TAXPAYER),
    "taxes_amce_id_quasibinomial": _call(
        "amce", taxes, TAXES, weights="weight", family="quasibinomial", **TAXPAYER
    ),
    "taxes_mm_noid": _call("mm", taxes, TAXES),
    "taxes_mm_id": _call("mm", taxes, TAXES, **TAXPAYER),
    "taxes_mm_id_weights": _call("mm", taxes, TAXES, weights="weight", **TAXPAYER),
    "taxes_mm_weights": _call("mm", taxes, TAXES, weights="weight"),
    "taxes_amce_diffs_partyid": _call("amce_diffs", taxes, TAXES, by="partyid", **TAXPAYER),
    "taxes_mm_diffs_partyid": _call("mm_diffs", taxes, TAXES, by="partyid", **TAXPAYER),
    "taxes_cj_by_partyid_amce": _call(
        "cj", taxes, TAXES, estimate="amce", by="partyid", weights="weight", **TAXPAYER
    ),
    "taxes_cj_freqs": _call("cj_freqs", taxes, "~ taxrate1 + taxrev", **TAXPAYER),
    "taxes_cj_anova_partyid": _call("cj_anova", _taxes_with_party, TAXES, by="partyid"),
    "taxes_amce_constrained_allowed": _call(
        "amce", taxes, "chose_plan ~ taxrate1 * taxrev + taxrate6", **TAXPAYER
    ),
    "wide_cj_tidy": (
        "cj_tidy",
        wide_conjoint,
        None,
        {"profile_variables": PROFILE_VARIABLES, "task_variables": TASK_VARIABLES, "id": "respondent"},
    ),
    "wide_amce_id": ("amce", long_conjoint, "chosen ~ feature1 + feature2 + feature3", {"id": "respondent"}),
    "gemini_flash_amce_noid": _call("amce", gemini, GEMINI),
    "gemini_flash_amce_id": _call("amce", gemini, GEMINI, **PAIR),
    "gemini_flash_mm_noid": _call("mm", gemini, GEMINI),
    "gemini_flash_mm_id": _call("mm", gemini, GEMINI, **PAIR),
    "gemini_flash_mm_id_h0": _call("mm", gemini, GEMINI, h0=0.5, **PAIR),
    "gemini_flash_amce_diffs_identity": _call(
        "amce_diffs", gemini, GEMINI_WITHOUT_IDENTITY, by="identity", **PAIR
    ),
    "gemini_flash_amce_diffs_identity_noid": _call(
        "amce_diffs", gemini, GEMINI_WITHOUT_IDENTITY, by="identity"
    ),
    "gemini_flash_mm_diffs_identity": _call(
        "mm_diffs", gemini, GEMINI_WITHOUT_IDENTITY, by="identity", **PAIR
    ),
    "gemini_flash_aspublished_amce_noid": _call("amce", _gemini_as_published, GEMINI),
    "gemini_flash_amce_id_alpha10_desc": _call(
        "amce", gemini, GEMINI, alpha=0.1, level_order="descending", feature_order=GEMINI_ORDER, **PAIR
    ),
    "gemini_flash_amce_by_reference_slur": _call(
        "amce_by_reference", gemini, GEMINI, variable="slur", **PAIR
    ),
    "gemini_flash_cj_freqs": _call("cj_freqs", gemini, GEMINI, **PAIR),
    "gemini_flash_cj_props_slur_identity": _call("cj_props", gemini, "~ slur + identity", **PAIR),
    "gemini_flash_cj_anova_identity": _call("cj_anova", gemini, GEMINI_WITHOUT_IDENTITY, by="identity"),
    "gemini_flash_cj_by_topic_amce": _call(
        "cj", gemini, GEMINI_BY_TOPIC, estimate="amce", by="topic", **PAIR
    ),
    "gemini_flash_cj_by_profile_mm": _call("cj", gemini, GEMINI, estimate="mm", by="profile", h0=0.5, **PAIR),
    "gemini_flash_amce_interaction_slur_identity": _call("amce", gemini, GEMINI_CROSSED, **PAIR),
    "gemini_flash_amce_diffs_prompt_id": _call("amce_diffs", gemini_two_prompts, GEMINI, by="prompt", **PAIR),
    "gemini_flash_mm_diffs_prompt_id": _call("mm_diffs", gemini_two_prompts, GEMINI, by="prompt", **PAIR),
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
