"""Choices tables from anywhere: columns renamed, gaps filled, attributes in the order of the study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from ..errors import InputError, did_you_mean
from ..tables.columns import Levels, coerce, resolve_levels
from ..tables.files import load
from ..tables.schema import TABLES, require_columns, validate

DEFAULT_JUDGE = "judge"
SIMULATED = "simulated"
MANY_JUDGES, FEW_PAIRS = 10, 50  # more judges with fewer pairs each than this look like respondents


def read_choices(
    path: str | Path,
    attributes: Levels,
    levels: Levels | str | Path | None = None,
    aliases: Mapping[str, str] | None = None,
    usual_names: Mapping[str, str] | None = None,
    judge_kinds: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
) -> pd.DataFrame:
    r"""Read a tidy table of forced choices, one row per judge, pair and profile.

    Needed are ``pair_id``, ``position``, ``chosen`` and the attributes. What else the contract declares is
    filled in where it is absent: ``judge_id`` with "judge"; ``judge_kind`` with that of ``judge_kinds``, for
    judges not named there with human where ``task`` numbers a respondent's tasks, else model; ``status``
    with ok, or missing where ``chosen`` is empty; ``repeat`` with false; the others with missing values (a
    missing ``sample`` is a judge's only answer).
    Two further columns have a meaning where they occur: ``origin`` is "simulated" in rows that a simulator
    made, ``panel`` names the human panel of a respondent where there are several. ``notes`` receives what
    was assumed.
    """
    notes = [] if notes is None else notes
    aliases, usual_names, source = aliases or {}, usual_names or {}, str(path)
    fields = TABLES["choices"]
    kinds = {name: field.kind for name, field in fields.items()} | {"origin": "string", "panel": "string"}
    study = {
        **attributes,
        **{theirs: attributes[ours] for theirs, ours in aliases.items() if ours in attributes},
    }
    kinds |= {
        theirs: kinds[ours] for theirs, ours in [*usual_names.items(), *aliases.items()] if ours in kinds
    }
    raw = load(path, {**resolve_levels(path, levels), **study}, kinds, notes=notes)
    taken = {*raw.columns, *aliases.values()}
    usual = {theirs: ours for theirs, ours in usual_names.items() if theirs in raw and ours not in taken}
    frame = _rename(raw, {**usual, **aliases}, source)
    require_columns(frame, ["pair_id", "position", "chosen", *attributes], source, "--rename")
    if frame.empty:
        raise InputError(f"{source}: the table has no rows; write one row for each profile shown.")
    filled = _fill(frame, source, judge_kinds or {}, notes)
    valid = validate(filled, "choices", source)
    declared = [*fields, *attributes]
    return valid[[*declared, *(name for name in valid if name not in declared)]]


def _refuse_respondents(frame: pd.DataFrame, source: str) -> None:
    """Refuse to take many judges with few pairs each as models."""
    judges = int(frame["judge_id"].nunique())
    pairs = len(frame) / 2 / max(judges, 1)
    if judges > MANY_JUDGES and pairs < FEW_PAIRS:
        raise InputError(
            f"{source}: column 'judge_kind' is missing, and {judges:,} judges with about {pairs:.0f} pairs "
            "each may be respondents or models; add it, with human or model in every row."
        )


def _rename(frame: pd.DataFrame, aliases: Mapping[str, str], source: str) -> pd.DataFrame:
    for theirs, ours in aliases.items():
        if theirs in frame and ours in frame:
            raise InputError(
                f"{source}: columns '{theirs}' and '{ours}' would both be '{ours}'; drop one of them."
            )
        if theirs not in frame and ours not in frame:
            hint = did_you_mean(theirs, frame.columns)
            raise InputError(
                f"{source}: column '{theirs}', to be used as '{ours}', is missing{hint}; correct the name."
            )
    return frame.rename(columns=dict(aliases))


def _judge_kinds(
    frame: pd.DataFrame, source: str, known: Mapping[str, str]
) -> tuple[pd.Series[str], list[str]]:
    """Return the kind of every judge of a file without kinds; the second value reports the assumption."""
    kinds = frame["judge_id"].astype("string").map(known).astype("string")
    rest, note = kinds.isna(), f"{Path(source).name}: there is no judge_kind, so "
    if not rest.any():
        return kinds, [f"{note}the kinds of all judges are those of the study."]
    others = frame[rest]
    kind = "human" if "task" in others and others["task"].notna().any() else "model"
    if kind == "model":
        _refuse_respondents(others, source)
    who = "all judges" if rest.all() else "judges that the study names are of its kinds, and all others"
    return kinds.fillna(kind), [f"{note}{who} are taken as '{kind}'."]


def _fill(frame: pd.DataFrame, source: str, judge_kinds: Mapping[str, str], notes: list[str]) -> pd.DataFrame:
    """Add the columns that the file may lack, and note what was assumed."""
    filled, file = frame.copy(), Path(source).name
    if "judge_id" not in frame:
        filled["judge_id"] = DEFAULT_JUDGE
        notes.append(
            f"{file}: there is no judge_id, so all rows are taken as one judge named '{DEFAULT_JUDGE}'."
        )
    if "judge_kind" not in frame:
        filled["judge_kind"], assumed = _judge_kinds(filled, source, judge_kinds)
        notes += assumed
    if "status" not in frame:
        filled["chosen"] = coerce(frame["chosen"], "binary", source)
        filled["status"] = np.where(filled["chosen"].isna(), "missing", "ok")
    if "repeat" not in frame:
        filled["repeat"] = False
    for name in TABLES["choices"]:
        if name not in filled:
            filled[name] = pd.Series(pd.NA, index=filled.index, dtype="object")
    return filled
