"""A datasheet for each model: what it does as an instrument, measured or not (after Usami et al. 2026)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ....frames.rounding import percentage
from ....frames.sentences import headed
from ...table_format import interval, whole
from ..facts import Facts
from ..references import cite
from .checklist_items import RESULTS, RUN, Checklist, Item, item, judged_item, recorded_item

REFERENCE = f"After {cite('usami2026')}; the quantities are those that conjury measures."
TESTS = "Add the section `instrument` to the study, collect, and run `conjury fit`."
DIAGNOSE = "Run `conjury check STUDY --results FOLDER`."
Row = Mapping[Any, Any]


# Items that tables of the results answer: code, name, kinds of these tables, and what to do without one.
RECORDED = (
    (
        "J.6",
        "Answers to identical profiles (dark current)",
        ("order_effects",),
        "Add `vacuum_pairs` to `instrument`, collect, and run `conjury fit`.",
    ),
    (
        "J.7",
        "Preference between profiles of the same quality",
        ("beyond_quality",),
        "Add `same_quality_pairs` to `instrument`, collect, and run `conjury fit`.",
    ),
    ("J.8", "Order of known qualities", ("tier_accuracy",), "Name `tiers` in a study of items."),
    ("J.9", "Variation by prompt, order and sample", ("variance_components", "flips"), TESTS),
    ("J.10", "Drift over time", ("drift",), "Add `anchors` to `instrument`, and ask them again later."),
    (
        "J.11",
        "Agreement with people",
        ("people", "agreement", "alt_test", "scores"),
        "Give judgments of people to `conjury fit`.",
    ),
)


def datasheets(facts: Facts) -> list[Checklist]:
    """One datasheet for each model that results or run know, else for each of the study."""
    return [
        Checklist(f"Judge datasheet: {judge.label}", REFERENCE, _items(facts, judge))
        for judge in facts.models_asked
    ]


def _items(facts: Facts, judge: Any) -> list[Item]:
    name = judge.id
    takes = ", ".join(["text", *judge.ask.takes]) if judge.ask else ""
    model = [f"{judge.ask.model}; takes {takes}."] if judge.ask else []
    question = [f"{facts.study.question} Form: {facts.study.response.form}."]
    run = RUN if name in facts.answered_in_run else ""
    return [
        recorded_item(run, "J.1", "Model and inputs", model, model),
        recorded_item(run, "J.2", "Question and form of the answer", question, question),
        judged_item(
            "J.3",
            "Answers without a valid judgment",
            _unanswered(facts, name),
            "Run `conjury fit`.",
            RUN if facts.table("answers") is None else RESULTS,
        ),
        judged_item(
            "J.4",
            "Preference for a position",
            _rows(facts, "position", name, _position)
            or _rows(facts, "check_position_share", name, _share_of_a),
            DIAGNOSE,
            RESULTS,
        ),
        judged_item(
            "J.5",
            "Same answer to the same task",
            _rows(facts, "reliability", name, _repeats),
            DIAGNOSE,
            RESULTS,
        ),
        *(
            judged_item(code, title, _recorded(facts, *kinds), remedy, RESULTS)
            for code, title, kinds, remedy in RECORDED
        ),
        item(
            "J.12",
            "Intended use, and uses that results do not support",
            [],
            "",
            "what this judge is meant for",
        ),
    ]


def _unanswered(facts: Facts, judge: str) -> str:
    counts = facts.table("answers")
    if counts is not None and {"judge", "status", "n"} <= set(counts.columns):
        rows = counts[counts["judge"].astype(str) == judge]
    elif facts.run is not None and len(facts.run.statuses):
        rows = facts.run.statuses[facts.run.statuses["judge_id"].astype(str) == judge]
    else:
        return ""
    total = int(rows["n"].sum())
    if not total:
        return ""
    by = rows.assign(status=rows["status"].astype(str)).groupby("status", sort=False)["n"].sum()
    status_text = ", ".join(f"{name} {whole(n)}" for name, n in by.items() if n)
    missing = total - int(by.get("ok", 0))
    return f"{whole(missing)} of {whole(total)} ({percentage(missing / total, 1)}). By status: {status_text}."


def _rows(facts: Facts, table: str, judge: str, sentence: Callable[[Row], str]) -> str:
    frame = facts.table(table)
    if frame is None or "judge" not in frame:
        return ""
    labels = facts.study.prompt_labels
    phrases = []
    for row in frame[frame["judge"].astype(str) == judge].to_dict("records"):
        prompt = "" if pd.isna(row.get("prompt")) else str(row.get("prompt") or "")
        if phrase := sentence(row):
            phrases.append(f"{labels.get(prompt, prompt)}: {phrase}" if prompt else phrase)
    return f"{'; '.join(phrases)}." if phrases else ""


def _position(row: Row) -> str:
    if pd.isna(row.get("share_a")):
        return ""
    return f"position A chosen in {percentage(row['share_a'], 1)} of pairs"


def _share_of_a(row: Row) -> str:
    limits = interval(row.get("lower"), row.get("upper"))
    return f"position A chosen in {percentage(row['estimate'], 1)} of pairs {limits}".strip()


def _repeats(row: Row) -> str:
    return (
        f"{percentage(row['agreement'], 1)} of {whole(row['n_repeats'])} repeats "
        f"{interval(row['lower'], row['upper'])}"
    )


def _recorded(facts: Facts, *kinds: str) -> str:
    """Where the numbers of some kinds of results are."""
    phrases = [
        headed(entry.title or entry.name, f"table {entry.name} of the results")
        for entry in facts.records(*kinds)
    ]
    return f"{'; '.join(phrases)}." if phrases else ""
