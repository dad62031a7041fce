"""Gold labels that a model can read in its prompt, and test items among its examples."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ..judged import NotApplicableError
from ..registry import Check, Question, adjusted, check, lowest, said_p
from ..texts import (
    bases,
    conditions,
    folded,
    joined,
    judge_and_prompt,
    strata_columns,
    texts_of,
    without,
    words_of,
)

GOLD_IN_PROMPT = Question(
    "CJ111",
    "gold_in_prompt",
    "Gold labels in prompts",
    "Can a model read the gold label of an item in its prompt, or is the item one of the examples?",
    "A model that reads the answer needs no judgment, so its scores are overestimated.",
    "Remove the label or the examples from the prompt and ask again; exclude test items that are examples.",
    "test",
)
NOTHING = "There are no items with both a request and a gold label."
GRAM = 5  # words of a run that items and examples share
COVERED = 0.8  # share of an item's runs of words in the other part of a prompt, from which it is an example
DRAWS = 4999
ENOUGH = 50  # draws as large as the statistic after which no more are needed
_MARKS = "label|gold|answer|category|class|type|rating|score|etiqueta|respuesta|categor[ií]a|tipo"
_MARK = rf"(?:{_MARKS})s?[\"' ]*[:=]\s*[\"']?"


@check(GOLD_IN_PROMPT)
def gold_in_prompt(
    requests: pd.DataFrame,
    labels: pd.DataFrame,
    items: pd.DataFrame,
    seed: int,
    alpha: float,
    item_study: ItemStudy | None = None,
) -> Check:
    """Test whether prompts name their item's gold label in excess, and search examples for test items."""
    if "item_id" not in requests:
        raise NotApplicableError(NOTHING)
    frame = judge_and_prompt(requests).assign(item=as_text(requests["item_id"]))
    columns = [requests[n].astype("string").fillna("") for n in ("system", "user") if n in requests]
    frame["message"] = joined(pd.concat(columns, axis=1), "\n")
    frame = frame.drop_duplicates(["prompt", "item"])
    shown = texts_of(items, item_study).fillna("")
    shown.index = as_text(items["item_id"])
    frame = frame[frame["item"].isin(shown.index) & frame["item"].isin(set(as_text(labels["item_id"])))]
    if frame.empty:
        raise NotApplicableError(NOTHING)
    names = {folded(label) for label in as_text(labels["label"]).dropna().unique()}
    texts = {item: [t for t in row if t and folded(t) not in names] for item, row in _rows_of(shown)}
    frame["rest"] = [
        folded(without(message, texts[item])[0])
        for message, item in zip(frame["message"], frame["item"], strict=True)
    ]
    strata = _strata(items, item_study)
    parts = [
        part
        for prompt, mine in frame.groupby("prompt", sort=False)
        for part in _of_prompt(
            str(prompt), mine, labels, item_study, strata, texts, np.random.default_rng(seed)
        )
    ]
    if not parts:
        raise NotApplicableError(NOTHING)
    table = pd.DataFrame(parts)
    table["p_adjusted"] = adjusted(table["p"].to_numpy(dtype=float))
    examples = examples_of(frame, {item: folded(" ".join(t)) for item, t in texts.items()}, items)
    p = float(table["p_adjusted"].min())
    leaks = table[table["p_adjusted"] < alpha]
    sentences = []
    if len(examples):
        n = examples["item_id"].nunique()
        sentences.append(
            f"{counted(n, 'test item')} {'is' if n == 1 else 'are'} among the examples of prompts of "
            f"other items, "
            f"such as {examples['item_id'].iloc[0]} under {examples['prompt_id'].iloc[0] or 'the prompt'}."
        )
    if len(leaks):
        worst = lowest(leaks, leaks["p"])
        sentences.append(
            f"Prompt {worst['prompt'] or 'without a name'} names the gold label of {worst['label_set']} "
            f"{worst['where']} in {int(worst['x']):,} of {counted(int(worst['n']), 'item')} more often "
            f"than it names "
            f"this label otherwise, where {worst['expected']:.1f} are expected (adjusted "
            f"{said_p(float(worst['p_adjusted']))})."
        )
    if not sentences:
        finding = (
            f"No prompt names gold labels beyond what its list of labels explains (least adjusted "
            f"{said_p(p)}), and "
            f"none of {counted(frame['item'].nunique(), 'item')} is among the examples of another."
        )
        return GOLD_IN_PROMPT.answer(table, "pass", finding, p=p)
    rows = examples if len(examples) else None
    return GOLD_IN_PROMPT.answer(
        table, "error", " ".join(sentences), p=None if len(examples) else p, rows=rows
    )


def _rows_of(shown: pd.DataFrame) -> Iterator[tuple[str, tuple[str, ...]]]:
    for item, row in zip(shown.index, shown.itertuples(index=False, name=None), strict=True):
        yield str(item), tuple(str(text) for text in row)


def _strata(items: pd.DataFrame, study: ItemStudy | None) -> pd.Series[str]:
    """What may decide on the words of a prompt: strata and condition of each item."""
    columns = strata_columns(items, study) if study is not None else []
    parts = items[columns].astype("string").fillna("").assign(condition=conditions(items))
    strata = joined(parts, "/")
    strata.index = as_text(items["item_id"])
    return strata[~strata.index.duplicated()]


def _of_prompt(
    prompt: str,
    mine: pd.DataFrame,
    labels: pd.DataFrame,
    study: ItemStudy | None,
    strata: pd.Series[str],
    texts: dict[str, list[str]],
    rng: np.random.Generator,
) -> Iterator[dict[str, object]]:
    sets = as_text(labels["label_set"])
    for name in sets[~sets.str.fullmatch(r"line_\d+")].unique():
        gold = labels[(sets == name).to_numpy(dtype=bool)]
        by_item = pd.Series(
            as_text(gold["label"]).to_numpy(), index=as_text(gold["item_id"]).to_numpy()
        ).dropna()
        rows = mine[mine["item"].isin(by_item.index)]
        truth = by_item[~by_item.index.duplicated()].reindex(rows["item"])
        known = [label for label in truth.unique() if str(label).strip()]
        if len(rows) < 2 or len(known) < 2:
            continue
        code = pd.Index(known).get_indexer(truth)
        words = [_words_for(str(label), str(name), study) for label in known]
        group = pd.factorize(strata.reindex(rows["item"]).fillna(""))[0]
        own = [folded(" ".join(texts[item])) for item in rows["item"]]
        for where, contents, mark in (
            ("outside the item", rows["rest"].tolist(), ""),
            ("marked in the item", own, _MARK),
        ):
            counts = label_counts(contents, words, mark)
            excess = counts > np.median(counts, axis=0)
            x, expected, p = leak_p(excess, code, group, rng)
            yield {
                "judge": "",
                "prompt": prompt,
                "label_set": str(name),
                "where": where,
                "n": len(rows),
                "x": x,
                "expected": expected,
                "p": p,
                "label": f"{name}, {where}",
                "panel": prompt,
                "estimate": x / len(rows),
            }


def _words_for(label: str, task: str, study: ItemStudy | None) -> list[str]:
    """A label as prompts may write it: its id and its words."""
    found = study.label_sets.get(task) if study is not None else None
    spelled = [level.label for level in found.labels if level.id == label] if found is not None else []
    return list(dict.fromkeys(folded(text) for text in (label, label.replace("_", " "), *spelled)))


def label_counts(contents: list[str], words: list[list[str]], mark: str = "") -> np.ndarray:
    """How often each text names each label as whole words, after a mark if one is given: (texts, labels)."""
    counts = np.zeros((len(contents), len(words)))
    for column, forms in enumerate(words):
        body = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
        pattern = re.compile(rf"{mark}(?<!\w)(?:{body})(?!\w)")
        first = [form for form in forms if form]
        counts[:, column] = [
            len(pattern.findall(text)) if any(form in text for form in first) else 0 for text in contents
        ]
    return counts


def leak_p(
    excess: np.ndarray, gold: np.ndarray, group: np.ndarray, rng: np.random.Generator
) -> tuple[int, float, float]:
    """Items whose prompt names their gold label in excess, the number expected, and the permutation p.

    Gold labels, shape (n,), are exchanged among the items of a group, shape (n,); ``excess``, shape
    (n, labels), is whether a text names a label more often than the median text does. Drawing stops as soon
    as enough draws reach the statistic (Besag and Clifford 1991), which keeps the p value valid.
    """
    rows = np.arange(len(gold))
    x = int(excess[rows, gold].sum())
    share = [excess[group == one][:, gold[group == one]].mean(axis=1).sum() for one in np.unique(group)]
    expected = float(np.sum(share))
    if x == 0:
        return 0, expected, 1.0
    order = np.argsort(group, kind="stable")
    reached = 0
    for draw in range(1, DRAWS + 1):
        shuffled = np.lexsort((rng.random(len(gold)), group))
        mixed = np.empty_like(gold)
        mixed[order] = gold[shuffled]
        reached += int(excess[rows, mixed].sum()) >= x
        if reached >= ENOUGH:
            return x, expected, reached / draw
    return x, expected, (reached + 1) / (DRAWS + 1)


def examples_of(frame: pd.DataFrame, texts: dict[str, str], items: pd.DataFrame) -> pd.DataFrame:
    """Items whose text is in prompts of other items: ``item_id, prompt_id, in_prompts_of`` (how many)."""
    asked = {rest: _grams(rest) for rest in frame["rest"].unique()}
    wanted = set().union(*asked.values())
    grams: dict[tuple[str, ...], list[str]] = {}
    sizes: dict[str, int] = {}
    for item, text in texts.items():
        mine = _grams(text)
        sizes[item] = len(mine)
        for gram in mine & wanted:
            grams.setdefault(gram, []).append(item)
    base = dict(zip(as_text(items["item_id"]), bases(items), strict=True))
    found: dict[tuple[str, str], int] = {}
    seen: dict[str, list[str]] = {}
    for prompt, item, rest in zip(frame["prompt"], frame["item"], frame["rest"], strict=True):
        if rest not in seen:
            shared: dict[str, int] = {}
            for gram in asked[rest]:
                for other in grams.get(gram, ()):
                    shared[other] = shared.get(other, 0) + 1
            seen[rest] = [other for other, n in shared.items() if n >= COVERED * sizes[other]]
        for other in seen[rest]:
            if base[other] != base[item] and texts[other] != texts[item]:
                found[(other, prompt)] = found.get((other, prompt), 0) + 1
    rows = [(item, prompt, n) for (item, prompt), n in found.items()]
    return pd.DataFrame(rows, columns=["item_id", "prompt_id", "in_prompts_of"])


def _grams(text: str) -> set[tuple[str, ...]]:
    words = words_of(text)
    return {tuple(words[k : k + GRAM]) for k in range(len(words) - GRAM + 1)}
