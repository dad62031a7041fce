"""Refused, empty and unparsed answers that depend on what the item shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note
from ...frames.sentences import out_of
from ..item_texts import rows_by_item
from ..judge_shares import percent
from ..judged import NotApplicableError
from ..labelled import answers_of
from ..registry import Check, Question, adjusted, check, lowest, show_p, who
from .missing_choices import missing_at_random

REFUSALS_BY_ATTRIBUTE = Question(
    code="CJ319",
    name="refusals_by_attribute",
    title="Missing answers by stratum",
    text="Are answers equally often missing in all strata of items?",
    consequence="Means and scores describe the answered items, which differ from all items.",
    remedy="Report the missing answers by stratum and bounds on their effect, and collect answers again "
    "where the reason is technical.",
    alarms="test",
)
MANY_LEVELS = 50  # columns of items with more values are no strata
SEVERE = 0.05  # share beyond which a rejected test is an error


@check(REFUSALS_BY_ATTRIBUTE)
def refusals_by_attribute(
    judgments: pd.DataFrame, items: pd.DataFrame, alpha: float, seed: int, item_study: ItemStudy | None = None
) -> Check:
    """Test, for every judge, prompt and stratum, whether missing answers are spread over items at random."""
    strata = strata_of(items, item_study)
    if not strata:
        raise NotApplicableError("The items have no strata.")
    rng = np.random.default_rng(seed)
    rows = list(_rows(answers_of(judgments), items, strata, rng))
    if not rows:
        raise NotApplicableError("No judge has both items with and without a missing answer.")
    table = pd.concat(rows, ignore_index=True)
    tests = table.drop_duplicates(["judge", "prompt", "panel"])[["judge", "prompt", "panel", "p"]]
    tests = tests.assign(p_adjusted=adjusted(tests["p"].to_numpy()))
    table = table.merge(tests.drop(columns="p"), on=["judge", "prompt", "panel"])
    worst, rejected = lowest(tests, tests["p_adjusted"]), table[table["p_adjusted"] < alpha]
    stratum_rows = table[
        (table["judge"] == worst["judge"])
        & (table["panel"] == worst["panel"])
        & (table["prompt"] == worst["prompt"])
    ]
    most = stratum_rows.iloc[int(stratum_rows["estimate"].to_numpy().argmax())]
    clear = out_of(len(tests[tests["p_adjusted"] < alpha]), int(tests["p_adjusted"].notna().sum()), "test")
    finding = Note.of(
        "Missing answers depend on the stratum in {clear}; smallest adjusted {p} ({who}): "
        "the most are missing for {level} ({share} of {of} items).",
        clear=clear,
        p=show_p(float(worst["p_adjusted"])),
        who=who(worst),
        level=(str(worst["panel"]), str(most["label"])),
        share=percent(float(most["estimate"])),
        of=int(most["of"]),
    )
    severe = len(rejected) > 0 and float(rejected["estimate"].max()) > SEVERE
    return REFUSALS_BY_ATTRIBUTE.answer(
        table,
        "error" if severe else "warning" if len(rejected) else "pass",
        finding,
        p=float(worst["p_adjusted"]),
    )


def strata_of(items: pd.DataFrame, study: ItemStudy | None) -> list[str]:
    """Strata of the study among the columns of items, else columns of text with 2 to 50 values."""
    if study is not None:
        named = [stratum.id for stratum in study.strata if stratum.id in items]
        return [name for name in named if as_text(items[name]).nunique() > 1]
    names = []
    for name in items:
        column = items[name]
        is_text = isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column)
        if (
            is_text
            and str(name) != "item_id"
            and 2 <= as_text(column).nunique() <= min(MANY_LEVELS, len(items) // 2)
        ):
            names.append(str(name))
    return names


def _rows(
    answers: pd.DataFrame, items: pd.DataFrame, strata: list[str], rng: np.random.Generator
) -> Iterator[pd.DataFrame]:
    by_id = rows_by_item(items)
    for (judge, prompt), group in answers.groupby(["judge", "prompt"], sort=False):
        flags = group.assign(lost=group["value"].isna()).groupby("item_id", sort=False)["lost"].max()
        flags = flags[flags.index.isin(by_id.index)]
        if not flags.any() or flags.all():
            continue
        for name in strata:
            yield from _by_level({"judge": judge, "prompt": prompt, "panel": name}, flags, by_id, name, rng)


def _by_level(
    key: dict[str, Any], flags: pd.Series[bool], by_id: pd.DataFrame, name: str, rng: np.random.Generator
) -> Iterator[pd.DataFrame]:
    level = as_text(by_id[name].reindex(flags.index)).fillna("missing")
    dummies = pd.get_dummies(level).to_numpy(dtype=float)
    if dummies.shape[1] < 2:
        return
    flag = flags.to_numpy(dtype=bool)
    result = missing_at_random(flag, dummies, np.zeros(len(flag), dtype=np.int64), rng)
    table = pd.DataFrame({"label": level.to_numpy(), "lost": flag}).groupby("label", sort=True)["lost"]
    counts = table.agg(n="sum", of="size").reset_index()
    yield counts.assign(**key, estimate=counts["n"] / counts["of"], p=result.p)[
        ["judge", "prompt", "panel", "label", "n", "of", "estimate", "p"]
    ]
