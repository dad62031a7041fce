"""Items of a study of ratings: read from its table, or made up for a simulation of any size."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ...errors import InputError, did_you_mean, listed
from ...study.models import ItemStudy
from ...tables.columns import as_text, refuse
from ...tables.files import read_table
from ...tables.schema import require_columns
from ...tables.streams import stream

PEOPLE = "human"  # generator of what people wrote


def read_items(study: ItemStudy) -> pd.DataFrame:
    """Read the items of a study; InputError names the row of a value that the study file does not have."""
    path = (study.folder / study.items).resolve()
    if not path.is_relative_to(study.folder.resolve()):
        raise InputError(f"{study.items}: the items lie outside the folder of the study; move them there.")
    items = read_table(path, "items")
    named = [study.cluster, study.generator, study.assignment and study.assignment.within]
    require_columns(items, [*study.level_labels, *(name for name in named if name)], str(path))
    for name in items.select_dtypes("category"):
        if name not in study.level_labels:
            items[name] = as_text(items[name])
    for name in study.level_labels:
        items[name] = _leveled(items[name], study.levels(name), str(path))
    if study.generator is not None:
        models = [judge.id for judge in study.judges if judge.kind == "model"]
        _leveled(items[study.generator], [PEOPLE, *models], str(path))
    return items


def make_up_items(study: ItemStudy, topics: Mapping[str, int], seed: int) -> pd.DataFrame:
    """Make up the items of a simulation: for every topic one item of each type.

    Texts are placeholders, and an unrelated response is the best one to another topic.
    """
    plan = study.assignment
    assert plan is not None
    levels = study.levels(plan.across)
    rng = stream(seed, "items")
    numbered = [(kind, number + 1) for kind, n in topics.items() for number in range(n)]
    topic = np.array([f"{kind}_{number:0{len(str(max(topics.values())))}d}" for kind, number in numbered])
    said = np.array([f"{kind.capitalize()} topic {number} (made up)" for kind, number in numbered])
    row = np.repeat(np.arange(len(topic)), len(levels))
    level = np.tile(levels, len(topic))
    best = study.tiers.levels[0] if study.tiers is not None else levels[0]
    source = np.roll(np.arange(len(topic)), -1)
    wanted = np.where(level == (study.unrelated.level if study.unrelated else ""), source[row], row)
    kind_shown = np.where(wanted == row, level, best)
    shown = study.level_labels.get("modality", topics)
    votes, writers = _votes(study, len(topic), rng), _writers(study)
    return pd.DataFrame(
        {
            "item_id": pd.array([f"{topic[t]}_{one}" for t, one in zip(row, level, strict=True)], "string"),
            "modality": pd.Categorical([numbered[t][0] for t in row], categories=list(shown)),
            plan.within: pd.array(topic[row], "string"),
            "topic": pd.array(said[row], "string"),
            "response": pd.array(
                [
                    f"Response {one} to {topic[t]} (made up)"
                    for t, one in zip(wanted, kind_shown, strict=True)
                ],
                "string",
            ),
            "media": pd.array([None] * len(row), "string"),
            plan.across: pd.Categorical(level, categories=levels),
            study.generator or "generator": pd.array([writers[one] for one in level], "string"),
            "votes": pd.array(
                [votes[one][t] if one in votes else None for t, one in zip(wanted, kind_shown, strict=True)],
                "Int64",
            ),
        }
    )


def _leveled(values: pd.Series[str], levels: list[str], source: str) -> pd.Series[str]:
    text = as_text(values)
    bad = ~text.isin(levels).to_numpy(dtype=bool)
    if bad.any():
        value = text.iloc[int(bad.argmax())]
        problem = "is empty" if pd.isna(value) else f"contains '{value}'{did_you_mean(str(value), levels)}"
        refuse(source, str(values.name), bad, problem, f"use one of {listed(levels)}")
    return pd.Series(pd.Categorical(text, categories=levels), index=values.index, name=values.name)


def _writers(study: ItemStudy) -> dict[str, str]:
    """Who writes the items of each type, as the study's own items have it."""
    plan = study.assignment
    assert plan is not None
    if study.generator is None:
        return dict.fromkeys(study.levels(plan.across), PEOPLE)
    items = read_items(study)
    first = items.drop_duplicates(plan.across)
    known = dict(zip(first[plan.across].astype(str), first[study.generator].astype(str), strict=True))
    return {level: known.get(level, PEOPLE) for level in study.levels(plan.across)}


def _votes(study: ItemStudy, n: int, rng: np.random.Generator) -> dict[str, list[int]]:
    """Votes of each tier, falling from tier to tier; at least 100 for the best."""
    if study.tiers is None:
        return {}
    top = 100 + rng.geometric(1 / 150, n)
    votes = {}
    for tier in study.tiers.levels:
        votes[tier] = [int(number) for number in top]
        top = rng.binomial(top, 0.15)
    return votes
