"""Messages of one item under different conditions and prompts, compared without the item."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import UNPERTURBED, as_text

from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check, highest
from ..texts import bases, conditions, excerpt, joined, judge_and_prompt, texts_of, without

PROMPT_DIFFERENCES = Question(
    "CJ110",
    "prompt_differences",
    "Differences of prompts",
    "Do requests of an item under two conditions differ in the condition alone?",
    "A difference between the conditions may be due to the other words of the prompt, so the effect of the "
    "condition is not identified.",
    "Ask both conditions under the same prompt, or report the difference as one of condition and prompt "
    "together.",
    "rule",
)
NO_CONDITIONS = "There are no items under several conditions, and no items asked under several prompts."
SHARE, SHARE_UNKNOWN, FEWEST = 0.1, 0.5, 2  # of pairs of requests with the same difference
COLUMNS = ["judge", "prompt", "condition", "n", "n_differ", "diff", "label", "panel", "estimate"]
_TAG = re.compile(r"</?data-[0-9a-f]{8}>")


@check(PROMPT_DIFFERENCES)
def prompt_differences(
    items: pd.DataFrame,
    requests: pd.DataFrame | None = None,
    judgments: pd.DataFrame | None = None,
    item_study: ItemStudy | None = None,
) -> Check:
    """Compare messages of perturbed items with those of their originals, and prompts of conditions."""
    place = pd.DataFrame({"base": bases(items), "condition": conditions(items)})
    place.index = as_text(items["item_id"])
    if not place.index.is_unique:
        place = place[~place.index.duplicated()]
    rows = [] if requests is None else list(_of_requests(requests, items, place, item_study))
    apart = _prompts_apart(judgments if judgments is not None else requests, place)
    if not rows and apart is None:
        raise NotApplicableError(NO_CONDITIONS)
    table = pd.DataFrame(rows, columns=COLUMNS)
    sentences, verdict = [], "pass"
    differ = table[table["n_differ"] > 0]
    if len(differ):
        most = highest(differ, differ["estimate"])
        verdict = "error"
        sentences.append(
            f"{int(most['n_differ']):,} of {counted(int(most['n']), 'request')} of {most['judge']} under "
            f"condition "
            f"{most['condition']} differ from those of the original in more than the item (prompt "
            f"{most['prompt'] or 'without a name'}): {most['diff']}"
        )
        if len(differ) > 1:
            sentences.append(
                f"This is so for {len(differ):,} of {len(table):,} conditions, judges and prompts."
            )
    if apart:
        verdict = "error"
        sentences.append(apart)
    if not sentences:
        n = int(table["n"].sum()) if len(table) else 0
        finding = (
            f"{counted(n, 'request')} of perturbed items differ from those of their originals in the "
            f"item alone."
            if n
            else "Items of all conditions were asked under the same prompts."
        )
        return PROMPT_DIFFERENCES.answer(table, "pass", finding)
    final: Verdict = "error" if verdict == "error" else "warning"
    return PROMPT_DIFFERENCES.answer(
        table, final, " ".join(sentences), rows=differ[COLUMNS[:6]] if len(differ) else None
    )


def _of_requests(
    requests: pd.DataFrame, items: pd.DataFrame, place: pd.DataFrame, study: ItemStudy | None
) -> Iterator[dict[str, object]]:
    """Count requests that differ from the original's in more than the item, by condition."""
    frame = judge_and_prompt(requests).assign(
        item=as_text(requests["item_id"]), sample=requests["sample"], row=range(len(requests))
    )
    known = frame["item"].isin(place.index)
    frame = frame[known].join(place, on="item")
    if frame["condition"].nunique() < 2:
        return
    shown = texts_of(items, study).fillna("")
    shown.index = as_text(items["item_id"])
    columns = [requests[n].astype("string").fillna("") for n in ("system", "user") if n in requests]
    messages = joined(pd.concat(columns, axis=1), "\n").tolist()
    frames = [
        frame_of(messages[row], [t for t in shown.loc[item] if t])
        for row, item in zip(frame["row"], frame["item"], strict=True)
    ]
    frame = frame.assign(text=[text for text, _ in frames], removed=[removed for _, removed in frames])
    key = ["judge", "prompt", "base", "sample"]
    original = frame[frame["condition"] == UNPERTURBED].drop_duplicates(key)
    pairs = frame[frame["condition"] != UNPERTURBED].merge(original, on=key, suffixes=("", "_original"))
    for (judge, prompt, condition), mine in pairs.groupby(["judge", "prompt", "condition"], sort=False):
        wrong, diff = differences(
            list(zip(mine["text_original"], mine["text"], strict=True)),
            (mine["removed"] & mine["removed_original"]).tolist(),
        )
        yield {
            "judge": judge,
            "prompt": prompt,
            "condition": condition,
            "n": len(mine),
            "n_differ": wrong,
            "diff": diff,
            "label": condition,
            "panel": prompt,
            "estimate": wrong / len(mine),
        }


def frame_of(message: str, shown: list[str]) -> tuple[str, bool]:
    """A message without the item's texts and the tags around them, and whether the texts were there."""
    values = [*shown, *(part for text in shown if "\n" in text for part in ("\n".join(text.splitlines()),))]
    text, removed = without(message, values)
    return _TAG.sub("", text), removed


def differences(pairs: list[tuple[str, str]], removed: list[bool]) -> tuple[int, str]:
    """Count pairs of messages with a difference that many pairs have, and name the most frequent ones.

    Where the item could not be removed (its text was changed on the way), its words are a difference, so
    only lines that differ in half of all pairs count.
    """
    dropped: Counter[str] = Counter()
    added: Counter[str] = Counter()
    sides = []
    for one, other in pairs:
        a, b = (
            frozenset(line.strip() for line in text.splitlines() if line.strip()) for text in (one, other)
        )
        sides.append((a - b, b - a))
        dropped.update(a - b)
        added.update(b - a)
    n, least = len(pairs), SHARE if all(removed) else SHARE_UNKNOWN
    common = {
        line
        for lines in (dropped, added)
        for line, times in lines.items()
        if times >= max(FEWEST, least * n) or (times == n and all(removed))
    }
    wrong = sum(bool((a | b) & common) for a, b in sides)
    parts = [
        f"\u201c{excerpt(line)}\u201d in the {which} alone"
        for lines, which in ((dropped, "original"), (added, "perturbed"))
        for line, _ in lines.most_common(2)
        if line in common
    ]
    return wrong, f"{', '.join(parts)}." if parts else ""


def _prompts_apart(table: pd.DataFrame | None, place: pd.DataFrame) -> str | None:
    """State that perturbed items and originals were never asked under one prompt; empty where they were."""
    if table is None or "prompt_id" not in table or "item_id" not in table:
        return None
    frame = judge_and_prompt(table).assign(item=as_text(table["item_id"])).drop_duplicates()
    frame = frame[frame["item"].isin(place.index)].join(place, on="item")
    frame = frame[frame["prompt"].ne("")]
    if "condition" in table and frame["condition"].nunique() < 2:
        given = as_text(table["condition"]).fillna(UNPERTURBED)
        frame = frame.assign(condition=given.reindex(frame.index))
    if frame["condition"].nunique() < 2:
        return None
    original = set(frame.loc[frame["condition"] == UNPERTURBED, "prompt"])
    for condition, mine in frame[frame["condition"] != UNPERTURBED].groupby("condition", sort=False):
        if original and not set(mine["prompt"]) & original:
            return (
                f"Items under condition {condition} were asked under "
                f"{', '.join(sorted(set(mine['prompt'])))} only, and "
                f"originals under {', '.join(sorted(original))} only."
            )
    return ""
