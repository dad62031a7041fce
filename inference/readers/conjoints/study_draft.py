"""A study file and its choices from a conjoint survey, so that `conjury fit` goes on with both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InputError
from ...inference_wings import WINGS
from ...tables.schema import POSITIONS, validate
from ..aliases import without_excluded
from .attribute_levels import EmptyPairs, find_empty_pairs
from .conjoint_reading import TAKEN, ConjointTable

PROFILES = len(POSITIONS)


@dataclass(frozen=True)
class SurveyDraft:
    """What a study file is drafted from, and the choices of its respondents."""

    choices: pd.DataFrame
    labels: pd.DataFrame  # `attribute, level, attribute_id, level_id`, the reference of each attribute first
    respondents: int
    tasks: int
    restrictions: tuple[dict[str, Any], ...]
    joined: tuple[tuple[str, str], ...]  # ids of attributes whose interaction the formula needs
    repeat_first: bool = False

    def study(self, name: str, source: str) -> str:
        """The study file."""
        text: str = WINGS.find("study_drafts")(
            self, name, source, restrictions=self.restrictions, joined=self.joined
        )
        return text


def draft_of(table: ConjointTable) -> SurveyDraft:
    """Choices with ids for levels, and all that a study file says of a survey."""
    sizes = table.frame["pair_id"].value_counts()
    if not table.is_choice or not (sizes == PROFILES).all():
        problem = "the outcome is a rating" if not table.is_choice else "some tasks have not two profiles"
        raise InputError(
            f"{table.source}: {problem}, and study files are of choices between two profiles; "
            "omit --draft-study."
        )
    labels = _labels_of(table)
    ids = dict(zip(labels["attribute"], labels["attribute_id"], strict=True))
    level_ids = {(row["attribute"], row["level"]): row["level_id"] for row in labels.to_dict("records")}
    pairs = tuple(
        EmptyPairs(
            ids[tie.first],
            ids[tie.second],
            tuple((level_ids[tie.first, a], level_ids[tie.second, b]) for a, b in tie.pairs),
            tie.expected,
        )
        for tie in table.empty_pairs
    )
    return SurveyDraft(
        _choices_of(table, labels),
        labels,
        table.respondents,
        table.tasks,
        restrictions_of(pairs),
        joined(pairs),
    )


def empty_pairs_of(choices: pd.DataFrame, attributes: Sequence[str]) -> tuple[EmptyPairs, ...]:
    """Levels that choices never show together, by ids, without repeats and excluded respondents."""
    usable, _ = without_excluded(choices)
    usable = usable[usable["chosen"].notna() & ~usable["repeat"].fillna(False).astype(bool)]
    return find_empty_pairs(usable, attributes)


def _labels_of(table: ConjointTable) -> pd.DataFrame:
    make_ids = WINGS.find("ids")
    names = make_ids(list(table.attributes), "attribute", TAKEN)
    rows = []
    for attribute, name in zip(table.attributes, names, strict=True):
        levels = [str(level) for level in table.frame[attribute].cat.categories]
        pairs = zip(levels, make_ids(levels, "level"), strict=True)
        rows += [(attribute, level, name, level_id) for level, level_id in pairs]
    return pd.DataFrame(rows, columns=["attribute", "level", "attribute_id", "level_id"])


def restrictions_of(empty_pairs: Sequence[EmptyPairs]) -> tuple[dict[str, Any], ...]:
    """Entries of a study file: for each level of the first attribute those of the second that it excludes."""
    entries: list[dict[str, Any]] = []
    for tie in empty_pairs:
        by_level: dict[str, list[str]] = {}
        for level, partner in tie.pairs:
            by_level.setdefault(level, []).append(partner)
        entries += [
            {
                "levels": {tie.first: [level], tie.second: partners},
                "because": "No profile of the survey shows them together.",
            }
            for level, partners in by_level.items()
        ]
    return tuple(entries)


def joined(empty_pairs: Sequence[EmptyPairs]) -> tuple[tuple[str, str], ...]:
    """Pairs of attributes for the formula, each attribute once, those with the most absent rows first."""
    pairs: list[tuple[str, str]] = []
    for tie in sorted(empty_pairs, key=lambda tie: -tie.expected):
        if not {tie.first, tie.second} & {name for pair in pairs for name in pair}:
            pairs.append((tie.first, tie.second))
    return tuple(pairs)


def _choices_of(table: ConjointTable, labels: pd.DataFrame) -> pd.DataFrame:
    """The choices as `conjury fit` reads them."""
    frame = table.frame.sort_values(["pair_id", "position"], kind="stable").reset_index(drop=True)
    judge = frame["judge_id"].astype("string")
    columns: dict[str, Any] = {
        "judge_id": judge,
        "judge_kind": "human",
        "pair_id": judge + "_task_" + frame["task"].astype("string").str.zfill(2),
        "task": frame["task"],
        "position": np.array(POSITIONS)[frame.groupby("pair_id").cumcount().to_numpy()],
        "profile_id": np.arange(len(frame)) + 1,
        "chosen": frame["chosen"].astype("Int8"),
        "status": np.where(frame["chosen"].isna(), "missing", "ok"),
        "repeat": False,
    }
    for attribute, rows in labels.groupby("attribute", sort=False):
        key = str(rows["attribute_id"].iloc[0])
        mapping = dict(zip(rows["level"], rows["level_id"], strict=True))
        texts = frame[str(attribute)].astype("string").map(mapping).astype(object)
        columns[key] = pd.Categorical(texts, categories=rows["level_id"].tolist())
    further = [
        str(name)
        for name in frame
        if name not in {"position", "task", *table.attributes} and name not in columns and name not in TAKEN
    ]
    return validate(pd.DataFrame(columns).join(frame[further]), "choices", table.source)
