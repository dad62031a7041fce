"""Where judges fail: by the length of what they judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import require_columns

from ..numerics.intervals import inference
from ..results import Result
from ..steps import Step, analysis
from ..vocabulary import BASELINE
from .data.scoring import Scored
from .intervals import with_adjusted
from .parse_status import WRONG
from .scores import scores

if TYPE_CHECKING:
    from .data.answered import Answered

METRICS = ("accuracy", "missing_rate")
LENGTH, BIN = "length", "length_group"


def length_effects(
    scored: Scored,
    items: pd.DataFrame,
    *,
    by: Sequence[str] = (),
    within: Sequence[str] = (),
    groups: int = 4,
    metrics: Sequence[str] = METRICS,
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
) -> Result:
    """Score judges on items of different lengths; no answer counts as wrong."""
    # What languages differ in is no effect of length: items are compared within each level of `within`.
    require_columns(items, ["item_id", "text"], "items")
    require_columns(scored.frame, list(within), "scored judgments")
    lengths, ungrouped = _lengths(scored, items, groups, list(within))
    known = lengths.set_index("item_id")[BIN]
    frame = scored.frame.assign(**{BIN: scored.frame["item_id"].astype(str).map(known)})
    kept = replace(scored, frame=frame).where(frame[BIN].notna().to_numpy(dtype=bool))
    drawn: dict[str, Any] = {"draws": draws, "seed": seed, "alpha": alpha, "cluster": cluster}
    by = [*by, *(name for name in within if name not in by)]
    found = scores(kept, by=[*by, BIN], metrics=list(metrics), missing=[WRONG], **drawn)
    table = found.frame[found.frame["judge_kind"] != BASELINE].assign(
        **{BIN: lambda rows: rows[BIN].astype(float).astype(int)}
    )
    cells = lengths.groupby([*within, BIN])[LENGTH]
    spans = cells.agg(shortest="min", longest="max", length="mean").reset_index()
    table = table.merge(spans.astype({BIN: int}), on=[*within, BIN], how="left")
    keys = ["judge", "prompt", "task", *by, "metric"]
    numbers = ["estimate", "std_error", "lower", "upper", "n_units", "n_items"]
    table = table[[*keys, BIN, "shortest", "longest", "length", *numbers]]
    ranked = dict.fromkeys(found.frame[keys].itertuples(index=False, name=None))
    order = {key: place for place, key in enumerate(ranked)}
    rank = [order[key] for key in table[keys].itertuples(index=False, name=None)]
    table = table.assign(_rank=rank).sort_values(["_rank", BIN]).drop(columns="_rank").reset_index(drop=True)
    left_out = scored.frame["item_id"].nunique() - kept.frame["item_id"].nunique() - ungrouped
    lacking = f"no text{' or no ' + listed(within) if within else ''}"
    notes = [f"{left_out:,} items have {lacking} and are excluded."] if left_out else []
    if ungrouped:
        notes.append(
            f"{ungrouped:,} items are excluded: their texts cannot be divided into two groups by length."
        )
    if within:
        notes.append(f"Lengths are grouped and compared within each value of {listed(within)}.")
    return Result(
        table,
        "errors",
        (*notes, *found.notes),
        {"by": list(by), "within": list(within), "groups": int(lengths[BIN].nunique()), **drawn},
        {"ends": _ends(table, keys, alpha)},
    )


def _lengths(scored: Scored, items: pd.DataFrame, groups: int, within: list[str]) -> tuple[pd.DataFrame, int]:
    """Characters of the judged items with a text, and their group, 1 for the shortest; how many have none."""
    text = as_text(items["text"])
    held = pd.DataFrame({"item_id": as_text(items["item_id"]), LENGTH: text.str.len()})
    held = held[(held[LENGTH].fillna(0) > 0).to_numpy(dtype=bool)].astype({LENGTH: float})
    judged = scored.frame[["item_id", *within]].drop_duplicates("item_id").dropna().astype("string")
    held = held.merge(judged.astype(object), on="item_id")
    if within:
        group = held.groupby(within, sort=False)[LENGTH].transform(_bins, groups)
    else:
        group = _bins(held[LENGTH], groups)
    result = held.assign(**{BIN: group}).dropna(subset=BIN)
    if result.empty:
        raise InputError(
            "items: fewer than two groups of lengths; length effects need texts of several lengths."
        )
    return result, len(held) - len(result)


def _bins(length: pd.Series[float], groups: int) -> pd.Series[float]:
    """Group of each length, from 1; missing where there are fewer than two groups."""
    if len(length) < groups:
        return pd.Series(np.nan, index=length.index)
    cut = pd.Series(pd.qcut(length, groups, labels=False, duplicates="drop"), index=length.index)
    return cut.rank(method="dense") if cut.nunique() > 1 else cut.astype(float) * np.nan


def _ends(table: pd.DataFrame, keys: Sequence[str], alpha: float) -> pd.DataFrame:
    """The longest group minus the shortest of each judge, task, stratum and metric."""
    of_key = table.groupby(list(keys), sort=False, observed=True)[BIN]
    last = table[(table[BIN] == of_key.transform("max")) & (of_key.transform("nunique") > 1)]
    ends = [part.set_index(list(keys)) for part in (table[table[BIN] == of_key.transform("min")], last)]
    both = ends[1].join(ends[0].add_suffix("_short"), how="inner")
    errors = both[["std_error", "std_error_short"]].to_numpy(dtype=float)
    error = np.sqrt((errors**2).sum(axis=1))
    estimate = both["estimate"] - both["estimate_short"]
    bounds = inference(estimate.to_numpy(dtype=float), error, alpha)
    result = pd.DataFrame(
        {
            "short": both["estimate_short"],
            "long": both["estimate"],
            "estimate": estimate,
            "std_error": error,
            "lower": bounds.lower,
            "upper": bounds.upper,
            "p": bounds.p,
        }
    )
    return with_adjusted(result.reset_index(), ["task", "metric"], "holm")


def has_texts(answered: Answered) -> bool:
    """Whether judgments are scored and the texts of their items are known."""
    return answered.is_scored and answered.items is not None and "text" in answered.items


@analysis("benchmark", order=90, when=has_texts)
def _steps(answered: Answered, drawn: Mapping[str, Any]) -> Iterator[Step]:
    scored, strata = answered.plain_scores, answered.strata
    items = cast(pd.DataFrame, answered.items)  # by has_texts
    yield Step(
        "lengths",
        "Scores by the length of items",
        lambda: length_effects(scored, items, within=strata, **drawn),
    )
