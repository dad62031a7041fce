"""Prompts of perturbed items that differ from those of their originals in more than the item."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import UNPERTURBED, as_text

from ...frames.notes import Note
from ...frames.sentences import agreeing
from ..item_texts import conditions, message_of, requests_of_items, rows_by_item
from ..judge_shares import MOST
from ..judged import NotApplicableError
from ..registry import Check, Question, check, highest, who

PROMPT_DIFFERENCES = Question(
    code="CJ110",
    name="prompt_differences",
    title="Prompts of conditions",
    text="Do the prompts of a perturbed item and its original differ only in the item?",
    consequence="The difference between conditions includes an effect of the prompts, so it is not that of "
    "the perturbation alone.",
    remedy="Use one template and the same settings for both conditions.",
    alarms="never",
)
ITEM = "{item}"


@check(PROMPT_DIFFERENCES)
def prompt_differences(requests: pd.DataFrame, items: pd.DataFrame) -> Check:
    """Compare the messages of each copy and its original after the texts of both were taken out."""
    if not {"condition", "base_item_id"} <= set(items) or "item_id" not in requests:
        raise NotApplicableError("The items name no perturbed copies, so all prompts are of one condition.")
    rows = list(_compare_copies(requests, items))
    if not rows:
        raise NotApplicableError("No perturbed item was judged together with its original.")
    frame = pd.DataFrame(rows, columns=["judge", "prompt", "label", "item_id", "difference"])
    frame["differs"] = frame["difference"].ne("")
    table = (
        frame.groupby(["judge", "prompt", "label"], sort=False)["differs"]
        .agg(n="sum", of="size")
        .reset_index()
    )
    table = table.assign(estimate=table["n"] / table["of"])
    most = highest(table, table["estimate"])
    if not frame["differs"].any():
        return PROMPT_DIFFERENCES.answer(
            table,
            "pass",
            Note.of(
                "The prompts of {copies} and originals differ only in the item.",
                copies=counted(len(frame), "copy", "copies"),
            ),
        )
    example = frame[frame["differs"]].iloc[0]
    finding = Note.of(
        "{differs:,} of {copies} {verb} judged under another prompt than their original, the "
        "most {n:,} of {of:,} with condition {condition!r} ({who}); for example {difference}.",
        differs=int(frame["differs"].sum()),
        copies=counted(len(frame), "copy", "copies"),
        verb=agreeing(int(frame["differs"].sum()), "was", "were"),
        n=int(most["n"]),
        of=int(most["of"]),
        condition=most["label"],
        who=who(most),
        difference=example["difference"],
    )
    return PROMPT_DIFFERENCES.answer(table, "error", finding, rows=frame[frame["differs"]].head(MOST))


def _compare_copies(requests: pd.DataFrame, items: pd.DataFrame) -> Iterator[tuple[str, str, str, str, str]]:
    by_id = rows_by_item(items)
    texts = [name for name in by_id if not pd.api.types.is_numeric_dtype(by_id[name])]
    rows = (
        requests_of_items(requests)
        .sort_values("sample", kind="stable")
        .drop_duplicates(["judge_id", "prompt", "item_id"])
    )
    frames = {(str(r.judge_id), str(r.prompt), str(r.item_id)): r for r in rows.itertuples()}
    condition = conditions(by_id)
    original = as_text(by_id["base_item_id"]).fillna("").to_dict()
    for (judge, prompt, item), request in frames.items():
        if item not in by_id.index or condition[item] == UNPERTURBED or not original[item]:
            continue
        base = original[item]
        base_request = frames.get((judge, prompt, base))
        if base_request is None or base not in by_id.index:
            continue
        copy_text, base_text = (
            _without_item(row, [by_id[text][name] for text in texts])
            for row, name in ((request, item), (base_request, base))
        )
        yield (
            judge,
            prompt,
            str(condition[item]),
            item,
            "" if copy_text == base_text else first_difference(base_text, copy_text),
        )


def _without_item(row: object, texts: Sequence[object]) -> str:
    """Messages with every text of the item replaced by one mark, the longest first."""
    message = message_of(row)
    passages = {str(text) for text in texts if isinstance(text, str) and len(text) > 3}
    passages |= {line for text in passages for line in text.splitlines() if len(line) > 3}
    for text in sorted(passages, key=len, reverse=True):
        message = message.replace(text, ITEM)
    return message


def first_difference(first: str, second: str) -> str:
    """The first words that differ between two texts, of both."""
    before, after = first.split(), second.split()
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            return f"{' '.join(before[a:b][:8])!r} became {' '.join(after[c:d][:8])!r}"
    return "white space"
