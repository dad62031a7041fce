"""Judges that are of the family of the model that wrote the items."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ...frames.vocabulary import HUMAN
from ..judged import NotApplicableError
from ..registry import Check, Question, check, highest
from ..shares import judge_and_prompt

SAME_FAMILY = Question(
    "CJ504",
    "same_family",
    "Judges and writers of one family",
    "Does a judge judge items that a model of its own family wrote?",
    "Preferences of models for texts of their own kind are mixed with the quality of the texts.",
    "Add judges of other families and people; `conjury.analysis.instrument.self_preference` estimates the "
    "preference "
    "with human ratings of the same items.",
    "never",
)
FAMILIES = {
    "OpenAI": r"gpt|chatgpt|openai|davinci|\bo[134](?:\b|-)",
    "Anthropic": r"claude|anthropic",
    "Google": r"gemini|gemma|palm|bard",
    "Meta": r"llama",
    "Mistral": r"mistral|mixtral|magistral|ministral",
    "Alibaba": r"qwen|qwq",
    "DeepSeek": r"deepseek",
    "xAI": r"grok",
    "Ai2": r"olmo|tulu",
    "Microsoft": r"\bphi-?\d",
    "Hugging Face": r"smollm|zephyr",
    "Cohere": r"command-?r|aya|cohere",
}


@check(SAME_FAMILY)
def same_family(
    judgments: pd.DataFrame,
    items: pd.DataFrame,
    asked: Mapping[str, Mapping[str, Any]],
    item_study: ItemStudy | None = None,
) -> Check:
    """Share of the items of each judge that a model of its family wrote."""
    column = (item_study.generator if item_study is not None else None) or "generator"
    if column not in items:
        raise NotApplicableError("The items do not state who wrote them (generator).")
    writers = pd.Series(as_text(items[column]).to_numpy(), index=as_text(items["item_id"]))
    models = judgments[as_text(judgments["judge_kind"]).ne(HUMAN).to_numpy()]
    frame = judge_and_prompt(models).assign(
        writer=as_text(models["item_id"]).map(writers[~writers.index.duplicated()])
    )
    names = {judge: str((asked.get(judge) or {}).get("model", judge)) for judge in frame["judge"].unique()}
    own = frame["judge"].map(lambda judge: family_of(names[judge]) or family_of(judge))
    theirs = frame["writer"].fillna("").map(lambda name: family_of(str(name)))
    written = theirs.ne("").to_numpy()
    if not written.any():
        raise NotApplicableError("No item was written by a model of a known family.")
    table = (
        frame.assign(label=own, same=(own == theirs) & (own != ""))
        .groupby(["judge", "prompt", "label"], sort=False)["same"]
        .agg(n="sum", of="size")
        .reset_index()
    )
    table = table.assign(estimate=table["n"] / table["of"])
    most = highest(table, table["estimate"])
    if not table["n"].any():
        return SAME_FAMILY.answer(table, "pass", "No judge judges items that a model of its family wrote.")
    finding = (
        f"{int((table.groupby('judge')['n'].sum() > 0).sum())} judges judge items of their own family; the "
        f"most is {100 * most['estimate']:.1f}% of the items of {most['judge']} ({most['label']})."
    )
    return SAME_FAMILY.answer(table, "warning", finding)


def family_of(name: str) -> str:
    """The family of a model by its name; empty where it is not known.

    Examples
    --------
    >>> family_of("gpt-4o-mini"), family_of("human")
    ('OpenAI', '')
    """
    plain = name.replace("_", "-")
    return next(
        (family for family, pattern in FAMILIES.items() if re.search(pattern, plain, re.IGNORECASE)), ""
    )
