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


def _call(verb: str, formula: str, **options: Any) -> tuple[str, str, dict[str, Any]]:
    return verb, formula, options


def _calls(
    name: str, data: Callable[[], pd.DataFrame], **calls: tuple[str, str, dict[str, Any]]
) -> dict[str, Call]:
    """Calls on one data set, unless their options name another."""
    return {
        f"{name}_{key}": (verb, options.pop("data", data), formula, options)
        for key, (verb, formula, options) in calls.items()
    }


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
    **_calls(
        "immigration",
        immigration,
        amce_noid=_call("amce", FULL),
        amce_id=_call("amce", FULL, **CASE),
        amce_id_alpha10=_call("amce", FULL, alpha=0.1, **CASE),
        amce_id_descending=_call("amce", FULL, level_order="descending", **CASE),
        amce_id_feature_order=_call("amce", SHORT, feature_order=FEATURE_ORDER, **CASE),
        amce_id_feature_labels=_call("amce", SHORT, feature_labels=OWN_LABELS, **CASE),
        amce_constrained_simple=_call("amce", SIMPLE_RESTRICTED, **CASE),
        amce_constrained_full=_call("amce", RESTRICTED, **CASE),
        amce_constrained_full_noid=_call("amce", RESTRICTED),
        amce_balance_na_outcome=_call("amce", BALANCE, **CASE),
        amce_balance_subset=_call("amce", BALANCE, data=_immigration_with_ethno, **CASE),
        mm_noid=_call("mm", FULL),
        mm_id=_call("mm", FULL, **CASE),
        mm_id_h0=_call("mm", FULL, h0=0.5, **CASE),
        mm_na_outcome=_call("mm", "ethnocentrism ~ Gender + Education", **CASE),
        mm_interaction_factor=_call("mm", "ChosenImmigrant ~ language_entry", h0=0.5, **CASE),
        amce_diffs_gender=_call("amce_diffs", TWO, by="Gender", **CASE),
        amce_diffs_gender_noid=_call("amce_diffs", TWO, by="Gender"),
        amce_diffs_contest=_call("amce_diffs", SHORT, by="contest_f", **CASE),
        amce_diffs_ethno=_call("amce_diffs", SHORT, by="ethno_f", **CASE),
        mm_diffs_gender=_call("mm_diffs", TWO, by="Gender", **CASE),
        mm_diffs_contest=_call("mm_diffs", SHORT, by="contest_f", **CASE),
        mm_diffs_ethno_h0_alpha10=_call("mm_diffs", SHORT, by="ethno_f", alpha=0.1, h0=0.1, **CASE),
        cj_by_contest_amce=_call("cj", SHORT, estimate="amce", by="contest_f", **CASE),
        cj_by_contest_mm=_call("cj", SHORT, estimate="mm", by="contest_f", h0=0.5, **CASE),
        amce_by_reference_language=_call("amce_by_reference", TWO, variable="LanguageSkills", **CASE),
        cj_freqs=_call("cj_freqs", FEATURES, **CASE),
        cj_props_job_education=_call("cj_props", "~ Job + Education", **CASE),
        cj_props_reason_country=_call("cj_props", REASON_COUNTRY, **CASE),
        cj_props_reason_country_margin1=_call("cj_props", REASON_COUNTRY, margin=1, **CASE),
        cj_table=_call("cj_table", FEATURES, include_reference=True),
        cj_anova_contest=_call("cj_anova", SHORT, by="contest_f"),
        cj_anova_ethno=_call("cj_anova", SHORT, by="ethno_f", data=_immigration_with_ethno),
    ),
    **_calls(
        "taxes",
        taxes,
        amce_noid=_call("amce", TAXES),
        amce_id=_call("amce", TAXES, **TAXPAYER),
        amce_weights=_call("amce", TAXES, weights="weight"),
        amce_id_weights=_call("amce", TAXES, weights="weight", **TAXPAYER),
        amce_id_quasibinomial=_call("amce", TAXES, weights="weight", family="quasibinomial", **TAXPAYER),
        mm_noid=_call("mm", TAXES),
        mm_id=_call("mm", TAXES, **TAXPAYER),
        mm_id_weights=_call("mm", TAXES, weights="weight", **TAXPAYER),
        mm_weights=_call("mm", TAXES, weights="weight"),
        amce_diffs_partyid=_call("amce_diffs", TAXES, by="partyid", **TAXPAYER),
        mm_diffs_partyid=_call("mm_diffs", TAXES, by="partyid", **TAXPAYER),
        cj_by_partyid_amce=_call("cj", TAXES, estimate="amce", by="partyid", weights="weight", **TAXPAYER),
        cj_freqs=_call("cj_freqs", "~ taxrate1 + taxrev", **TAXPAYER),
        cj_anova_partyid=_call("cj_anova", TAXES, by="partyid", data=_taxes_with_party),
        amce_constrained_allowed=_call("amce", "chose_plan ~ taxrate1 * taxrev + taxrate6", **TAXPAYER),
    ),
    **_calls(
        "gemini_flash",
        gemini,
        amce_noid=_call("amce", GEMINI),
        amce_id=_call("amce", GEMINI, **PAIR),
        mm_noid=_call("mm", GEMINI),
        mm_id=_call("mm", GEMINI, **PAIR),
        mm_id_h0=_call("mm", GEMINI, h0=0.5, **PAIR),
        amce_diffs_identity=_call("amce_diffs", GEMINI_WITHOUT_IDENTITY, by="identity", **PAIR),
        amce_diffs_identity_noid=_call("amce_diffs", GEMINI_WITHOUT_IDENTITY, by="identity"),
        mm_diffs_identity=_call("mm_diffs", GEMINI_WITHOUT_IDENTITY, by="identity", **PAIR),
        aspublished_amce_noid=_call("amce", GEMINI, data=_gemini_as_published),
        amce_id_alpha10_desc=_call(
            "amce", GEMINI, alpha=0.1, level_order="descending", feature_order=GEMINI_ORDER, **PAIR
        ),
        amce_by_reference_slur=_call("amce_by_reference", GEMINI, variable="slur", **PAIR),
        cj_freqs=_call("cj_freqs", GEMINI, **PAIR),
        cj_props_slur_identity=_call("cj_props", "~ slur + identity", **PAIR),
        cj_anova_identity=_call("cj_anova", GEMINI_WITHOUT_IDENTITY, by="identity"),
        cj_by_topic_amce=_call("cj", GEMINI_BY_TOPIC, estimate="amce", by="topic", **PAIR),
        cj_by_profile_mm=_call("cj", GEMINI, estimate="mm", by="profile", h0=0.5, **PAIR),
        amce_interaction_slur_identity=_call("amce", GEMINI_CROSSED, **PAIR),
        amce_diffs_prompt_id=_call("amce_diffs", GEMINI, by="prompt", data=gemini_two_prompts, **PAIR),
        mm_diffs_prompt_id=_call("mm_diffs", GEMINI, by="prompt", data=gemini_two_prompts, **PAIR),
    ),
    "wide_cj_tidy": (
        "cj_tidy",
        wide_conjoint,
        None,
        {"profile_variables": PROFILE_VARIABLES, "task_variables": TASK_VARIABLES, "id": "respondent"},
    ),
    "wide_amce_id": ("amce", long_conjoint, "chosen ~ feature1 + feature2 + feature3", {"id": "respondent"}),
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
