"""Columns, judges, prompts and exclusions as tables of users name them, in the terms of the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import counted, did_you_mean, listed
from ..tables.columns import as_text, by_distinct, plain, refuse

if TYPE_CHECKING:
    from ..study.models import AnyStudy, ItemStudy
    from ..study.study_fields import Judge, Prompt

EXCLUDED = "excluded"  # column of importers: why a row is excluded, missing where it is not; or a flag
MARKED = "marked as excluded"  # reason of a flag, which gives none
REFUSED_SUBMISSIONS = (  # statuses of Prolific
    *("rejected", "returned", "timed-out", "screened out", "screened-out", "reserved", "active"),
)
ACCEPTED_SUBMISSIONS = ("approved", "awaiting review", "awaiting-review")
YES = ("true", "t", "yes", "y", "1", "1.0")
NO = ("false", "f", "no", "n", "0", "0.0", "none", "")


def rename_columns(frame: pd.DataFrame, study: AnyStudy, keep: Sequence[str] = ()) -> pd.DataFrame:
    """Rename columns by the study's ``column_aliases``; those in ``keep`` and those that are there stay."""
    new_names = {
        alias: name
        for alias, name in study.column_aliases.items()
        if alias in frame and name not in frame and alias not in keep
    }
    return frame.rename(columns=new_names)


def name_judges(values: pd.Series[str], study: AnyStudy, source: str) -> tuple[pd.Series[str], list[str]]:
    """Write judges by their ids; also return names that are no judge of the study, which stay as they are."""
    names = _names(study.judges)
    text = _require_values(values, source, "name the judge of every row")
    judges = {name: names.get(plain(name)) for name in text.unique()}
    unknown = [name for name, judge in judges.items() if judge is None]
    return text.map({name: judge or name for name, judge in judges.items()}).astype("string"), unknown


def name_prompts(values: pd.Series[str], study: ItemStudy, source: str) -> pd.Series[str]:
    """Write prompts by their ids; InputError for a name that is no prompt of the study."""
    names = _names(study.prompts)
    text = _require_values(values, source, "name the prompt of every row")
    prompts = {name: names.get(plain(name)) for name in text.unique()}
    unknown = by_distinct(text, lambda name: prompts[name] is None).to_numpy(dtype=bool)
    if unknown.any():
        name = str(text.iloc[int(unknown.argmax())])
        aliases = [alias for prompt in study.prompts for alias in (prompt.id, *prompt.aliases)]
        refuse(
            source,
            str(values.name),
            unknown,
            f"contains '{name}', which is no prompt of study {study.name}{did_you_mean(name, aliases)}",
            f"use one of {listed(aliases)}",
        )
    return text.map(prompts).astype("string")


def exclusion_reasons(column: pd.Series[Any]) -> pd.Series[Any]:
    """The reason why each row is excluded, missing where it is used."""
    # A column `excluded` contains reasons, or flags: true, yes and 1 exclude a row without a reason of their
    # own, false, no, 0, none and nothing do not omit it, and any other text is the reason.
    text = as_text(column).str.strip()
    word = text.str.casefold()
    return text.mask(word.isin(YES), MARKED).mask(word.isin(NO))


def is_used(rows: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Flags of the rows that are not marked in column ``excluded``."""
    if EXCLUDED not in rows:
        return np.ones(len(rows), dtype=bool)
    return exclusion_reasons(rows[EXCLUDED]).isna().to_numpy(dtype=bool)


def without_excluded(rows: pd.DataFrame, noun: str = "row") -> tuple[pd.DataFrame, list[str]]:
    """The rows that are not marked in column ``excluded``, and how many each reason excludes."""
    if EXCLUDED not in rows:
        return rows, []
    reasons = exclusion_reasons(rows[EXCLUDED])
    mask = reasons.notna().to_numpy(dtype=bool)
    if not mask.any():
        return rows, []
    parts = reasons[mask].astype(object).str.split("; ").explode().value_counts(sort=False)
    causes = listed(f"{reason} {n:,}" for reason, n in parts.items())
    text = f"{counted(int(mask.sum()), noun)} excluded by column '{EXCLUDED}' ({causes})."
    return rows[~mask], [text]


def _require_values(values: pd.Series[str], source: str, remedy: str) -> pd.Series[str]:
    text = as_text(values)
    empty = text.isna().to_numpy(dtype=bool)
    if empty.any():
        refuse(source, str(values.name), empty, "is empty", remedy)
    return text


def _names(parts: Sequence[Judge] | Sequence[Prompt]) -> Mapping[str, str]:
    return {plain(name): part.id for part in parts for name in (part.id, part.label, *part.aliases)}
