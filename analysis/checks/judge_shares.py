"""Shares of rows with a property, by judge and prompt, and the rows that have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import as_text

from ..frames.rounding import percentage
from ..numerics.intervals import wilson
from .judged import NotApplicableError
from .registry import Verdict

KEYS = ("judge_id", "prompt_id", "item_id", "task_id", "pair_id", "sample", "dimension", "value", "status")
SHORT = 200  # characters of a text that evidence shows
MOST = 1_000  # rows of evidence that are kept


def judge_and_prompt(frame: pd.DataFrame) -> pd.DataFrame:
    """Judge and prompt of each row as text, with the index of the frame; empty where there is no prompt."""
    prompt = as_text(frame["prompt_id"]).fillna("") if "prompt_id" in frame else ""
    columns = {"judge": as_text(frame["judge_id"]), "prompt": prompt}
    return pd.DataFrame(columns, index=frame.index).astype("string")


def shares(
    frame: pd.DataFrame,
    flag: np.ndarray,
    by: Mapping[str, pd.Series[Any]] | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Share of flagged rows by judge, prompt and further columns: ``n, of, estimate, lower, upper``."""
    rows = judge_and_prompt(frame).assign(**(by or {}), flag=np.asarray(flag, dtype=bool))
    keys = ["judge", "prompt", *(by or {})]
    flags = rows.groupby(keys, sort=False, dropna=False, observed=True)["flag"]
    table: pd.DataFrame = flags.agg(n="sum", of="size").reset_index()
    estimate, of = (table["n"] / table["of"]).to_numpy(float), table["of"].to_numpy(float)
    lower, upper = wilson(estimate, of, alpha)
    return table.assign(estimate=estimate, lower=lower, upper=upper)


def answers_of_models(responses: pd.DataFrame) -> pd.DataFrame:
    """Responses of models that have a text; NotApplicableError where there are none."""
    model = as_text(responses["judge_kind"]).eq("model").to_numpy(dtype=bool, na_value=False)
    answered = responses[model & as_text(responses["text"]).notna().to_numpy()]
    if answered.empty:
        raise NotApplicableError("There are no answers of models.")
    return answered


def evidence(frame: pd.DataFrame, flag: np.ndarray, further: Sequence[str] = ()) -> pd.DataFrame:
    """The flagged rows with the columns that name them, and further ones; long texts are cut."""
    rows = frame.loc[np.asarray(flag, dtype=bool), [name for name in (*KEYS, *further) if name in frame]]
    rows = rows.head(MOST).dropna(axis=1, how="all").reset_index(drop=True)
    texts = [name for name in ("text", "value") if name in rows]
    return rows.assign(**{name: as_text(rows[name]).str.slice(0, SHORT) for name in texts})


def graded(share: float, some: float, many: float) -> Verdict:
    """A warning above one share, an error above another."""
    return "error" if share > many else "warning" if share > some else "pass"


def percent(share: float) -> str:
    """A share in percent with one decimal, or two below 1%."""
    return percentage(share, 2 if 0 < share < 0.01 else 1)
