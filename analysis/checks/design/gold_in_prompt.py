"""Gold labels and test items that the prompt shows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ...benchmark.data.units import bases, with_copies
from ...frames.notes import Note, join_notes
from ...frames.rounding import rounded
from ..item_texts import message_of, requests_of_items, rows_by_item
from ..judge_shares import MOST
from ..judged import NotApplicableError
from ..labelled import spellings_of
from ..registry import Check, Question, Verdict, adjusted, check, highest, show_p

GOLD_IN_PROMPT = Question(
    code="CJ111",
    name="gold_in_prompt",
    title="Gold labels in the prompt",
    text="Does the prompt of an item name its gold label more often than others, or show other test items as "
    "examples?",
    consequence="The judge can copy the answer, so its score does not measure its judgment.",
    remedy="Remove the label or the example from the prompt, and collect answers again.",
    alarms="test",
)
DRAWS = 1999  # with the observed order 2,000, so that p has round steps
LONG = 40  # characters of an item that do not stand in another prompt by chance


@check(GOLD_IN_PROMPT)
def gold_in_prompt(
    requests: pd.DataFrame,
    labels: pd.DataFrame,
    items: pd.DataFrame,
    seed: int,
    alpha: float,
    item_study: ItemStudy | None = None,
) -> Check:
    """Permute gold labels over items, and search the texts of items in the prompts of others."""
    if "item_id" not in requests or "user" not in requests:
        raise NotApplicableError("The requests show no messages about items.")
    first = requests_of_items(requests).drop_duplicates(["prompt", "item_id"])
    labels = with_copies(labels.astype({"item_id": "string"}), "label_set", bases(items, None))
    texts = as_text(rows_by_item(items)["text"]) if "text" in items else pd.Series(dtype="string")
    rows, rng = [], np.random.default_rng(seed)
    for prompt, group in first.groupby("prompt", sort=False):
        for task, gold in labels.groupby(as_text(labels["label_set"]), sort=False):
            if str(task).startswith("line_"):
                continue
            result = mentions_of_gold(group, gold, texts, item_study, str(task), rng)
            if result is not None:
                rows.append(("prompt", str(prompt), str(task), *result))
    leaks = _find_leaks(first, texts)
    if not rows and leaks.empty:
        raise NotApplicableError("No request is about an item with a gold label.")
    table = pd.DataFrame(rows, columns=["judge", "prompt", "panel", "of", "estimate", "p"])
    table["p_adjusted"] = adjusted(table["p"].to_numpy(dtype=float)) if len(table) else []
    p = float(table["p_adjusted"].min()) if len(table) else 1.0
    named = p < alpha
    parts = []
    if len(table):
        most = highest(table, table["estimate"])
        where = Note.of(
            "{dimension}, prompt {prompt!r}; smallest adjusted {p}",
            dimension=most["panel"],
            prompt=most["prompt"],
            p=show_p(p),
        )
        more = f"{rounded(most['estimate'], 2, 0)} times more often"
        if most["estimate"] <= 0:
            more = "no more often"
        parts.append(
            Note.of(
                "Messages name the gold label of their item {more} than that of another item ({where}).",
                more=more,
                where=where,
            )
        )
    if len(leaks):
        parts.append(
            Note.of(
                "{n_prompts} another test item, such as {shown} in the prompt of {item_id}.",
                n_prompts=counted(len(leaks), "prompt shows", "prompts show"),
                shown=leaks["shown"].iloc[0],
                item_id=leaks["item_id"].iloc[0],
            )
        )
    verdict: Verdict = "error" if named or len(leaks) else "pass"
    return GOLD_IN_PROMPT.answer(
        table,
        verdict,
        join_notes(parts),
        p=None if len(leaks) else p,
        rows=leaks.head(MOST) if len(leaks) else None,
    )


def mentions_of_gold(
    requests: pd.DataFrame,
    gold: pd.DataFrame,
    texts: pd.Series[str],
    study: ItemStudy | None,
    task: str,
    rng: np.random.Generator,
) -> tuple[int, float, float] | None:
    """Items with a gold label, how much more often messages name it than that of another item, and p."""
    label = pd.Series(as_text(gold["label"]).to_numpy(), index=as_text(gold["item_id"]))
    label = label[label.fillna("").str.strip() != ""]
    rows = requests[requests["item_id"].isin(label.index).to_numpy(dtype=bool)]
    if len(rows) < 2:
        return None
    label = label[~label.index.duplicated()].reindex(rows["item_id"])
    names = sorted(set(label))
    spellings = spellings_of(study, task) if study is not None else {}
    words = {name: texts[1] for name, texts in spellings.items()}
    patterns = [
        re.compile(rf"(?<!\w){re.escape(words.get(name, name))}(?!\w)", re.IGNORECASE) for name in names
    ]
    counts = np.zeros((len(rows), len(names)))
    for row, request in enumerate(rows.itertuples()):
        message, text = message_of(request), texts.get(str(request.item_id))
        message = message.replace(str(text), "") if isinstance(text, str) and text else message
        counts[row] = [len(pattern.findall(message)) for pattern in patterns]
    if (counts == counts[:1]).all():
        return len(rows), 0.0, 1.0
    codes = pd.Categorical(label, categories=names).codes.astype(int)
    at = np.arange(len(codes))
    excess = counts - counts.mean(axis=1, keepdims=True)
    observed = float(excess[at, codes].sum())
    draws = np.array([excess[at, rng.permutation(codes)].sum() for _ in range(DRAWS)])
    p = float(((draws >= observed - 1e-9).sum() + 1) / (DRAWS + 1))
    return len(codes), (observed - float(draws.mean())) / len(codes), p


def _find_leaks(requests: pd.DataFrame, texts: pd.Series[str]) -> pd.DataFrame:
    """Requests whose messages contain the text of another item that is asked under the same prompt."""
    rows = []
    for prompt, group in requests.groupby("prompt", sort=False):
        texts_by_item = {
            item: str(texts[item])
            for item in group["item_id"].dropna()
            if item in texts.index and isinstance(texts[item], str)
        }
        # An example stands in every message of a prompt, so that a few of them find it.
        for row in group.head(5).itertuples():
            message = message_of(row)
            mine = texts_by_item.get(str(row.item_id), "")
            rows += [
                (str(prompt), str(row.item_id), item)
                for item, text in texts_by_item.items()
                if item != row.item_id and len(text) >= LONG and text in message and text not in mine
            ]
    return pd.DataFrame(rows, columns=["prompt", "item_id", "shown"]).drop_duplicates(["prompt", "shown"])
