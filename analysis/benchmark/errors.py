"""Where judges fail: by the length of what they judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.columns import as_text
from conjury.inference.errors import InputError
from conjury.inference.tables import require_columns

from ..results import inference
from .baselines import BASELINE
from .missing import WRONG
from .result import BenchmarkResult
from .scores import scores
from .scoring import Scored

METRICS = ("accuracy", "missing_rate")
LENGTH, BIN = "length", "length_group"


def length_effects(
    scored: Scored,
    items: pd.DataFrame,
    *,
    by: Sequence[str] = (),
    groups: int = 4,
    metrics: Sequence[str] = METRICS,
    draws: int = 2_000,
    seed: int = 1,
    alpha: float = 0.05,
    cluster: str = "item_id",
) -> BenchmarkResult:
    """Score judges on items of different lengths; no answer counts as wrong.

    Items are put in groups of about the same size, from short to long, by the characters of their text.

    Parameters
    ----------
    scored : Scored
    items : DataFrame
        ``item_id, text``; items without a text are left out.
    by : sequence of str
        Columns of ``scored.frame`` to score by.
    groups : int
        Fewer where lengths repeat.
    metrics : sequence of str
        As `scores` takes them.
    draws, seed, alpha, cluster
        Of the bootstrap, as in `scores`.

    Returns
    -------
    BenchmarkResult
        Kind "errors": ``judge, prompt, task, [by], metric, length_group`` (from 1), ``shortest, longest,
        length`` (mean number of characters), ``estimate, std_error, lower, upper, n_units, n_items``.
        ``extra["ends"]`` has the longest group minus the shortest, with a normal interval: they share no
        item.

    Examples
    --------
    >>> from conjury.analysis.benchmark import score
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j2"],
    ...     "dimension": "harm", "value": ["safe", "safe"]})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2"], "label_set": "harm", "label": ["safe", "harmful"]})
    >>> items = pd.DataFrame({"item_id": ["j1", "j2"], "text": ["short", "so much longer"]})
    >>> found = length_effects(score(judged, gold), items, groups=2, metrics=["accuracy"], draws=0)
    >>> found.frame[["length", "estimate"]].to_numpy().tolist()
    [[5.0, 1.0], [14.0, 0.0]]
    """
    require_columns(items, ["item_id", "text"], "items")
    lengths = _lengths(scored, items, groups)
    known = lengths.set_index("item_id")[BIN]
    frame = scored.frame.assign(**{BIN: scored.frame["item_id"].astype(str).map(known)})
    kept = replace(scored, frame=frame).where(frame[BIN].notna().to_numpy(dtype=bool))
    drawn: dict[str, Any] = {"draws": draws, "seed": seed, "alpha": alpha, "cluster": cluster}
    found = scores(kept, by=[*by, BIN], metrics=list(metrics), missing=[WRONG], **drawn)
    table = found.frame[found.frame["judge_kind"] != BASELINE].assign(
        **{BIN: lambda rows: rows[BIN].astype(float).astype(int)}
    )
    spans = lengths.groupby(BIN)[LENGTH].agg(shortest="min", longest="max", length="mean").reset_index()
    table = table.merge(spans.astype({BIN: int}), on=BIN, how="left")
    keys = ["judge", "prompt", "task", *by, "metric"]
    numbers = ["estimate", "std_error", "lower", "upper", "n_units", "n_items"]
    table = table[[*keys, BIN, "shortest", "longest", "length", *numbers]]
    ranked = dict.fromkeys(found.frame[keys].itertuples(index=False, name=None))
    order = {key: place for place, key in enumerate(ranked)}
    rank = [order[key] for key in table[keys].itertuples(index=False, name=None)]
    table = table.assign(_rank=rank).sort_values(["_rank", BIN]).drop(columns="_rank").reset_index(drop=True)
    left_out = scored.frame["item_id"].nunique() - kept.frame["item_id"].nunique()
    notes = [f"{left_out:,} items have no text and are left out."] if left_out else []
    return BenchmarkResult(
        table,
        "errors",
        (*notes, *found.notes),
        {"by": list(by), "groups": int(lengths[BIN].nunique()), **drawn},
        {"ends": _ends(table, keys, alpha)},
    )


def _lengths(scored: Scored, items: pd.DataFrame, groups: int) -> pd.DataFrame:
    """Characters of the judged items with a text, and their group: 1 for the shortest."""
    text = as_text(items["text"])
    held = items.assign(item_id=as_text(items["item_id"]), **{LENGTH: text.str.len()})
    judged = set(scored.frame["item_id"].astype(str))
    held = held[held["item_id"].isin(judged) & (held[LENGTH].fillna(0) > 0).to_numpy(dtype=bool)]
    held = held[["item_id", LENGTH]].astype({LENGTH: float})
    cut = pd.qcut(held[LENGTH], groups, labels=False, duplicates="drop") if len(held) >= groups else None
    if cut is None or cut.nunique() < 2:
        raise InputError(
            "items: fewer than two groups of lengths; length effects need texts of several lengths."
        )
    return held.assign(**{BIN: cut.rank(method="dense").astype(int)})


def _ends(table: pd.DataFrame, keys: Sequence[str], alpha: float) -> pd.DataFrame:
    """The longest group minus the shortest of each judge, task, stratum and metric."""
    last = int(table[BIN].max())
    ends = [table[table[BIN] == group].set_index(list(keys)) for group in (1, last)]
    both = ends[1].join(ends[0].add_suffix("_short"), how="inner")
    errors = both[["std_error", "std_error_short"]].to_numpy(dtype=float)
    error = np.sqrt((errors**2).sum(axis=1))
    estimate = both["estimate"] - both["estimate_short"]
    bounds = inference(estimate.to_numpy(dtype=float), error, alpha)
    made = pd.DataFrame(
        {
            "short": both["estimate_short"],
            "long": both["estimate"],
            "estimate": estimate,
            "std_error": error,
            "lower": bounds.lower,
            "upper": bounds.upper,
        }
    )
    return made.reset_index()
