"""Clusters that levels rest on."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ...frames.notes import Note
from ..judged import JudgedChoices, codes, tidy
from ..registry import Check, Question, check, level_of, lowest, who
from .effective_numbers import ENOUGH, counts_of_levels, effective_number, verdict_of

CLUSTERS = Question(
    code="CJ109",
    name="clusters",
    title="Number of clusters",
    text="Are there enough independent respondents or pairs for cluster-robust standard errors?",
    consequence="With few clusters, standard errors are too small and tests reject too often.",
    remedy="Use CR2 standard errors with Satterthwaite degrees of freedom, or the wild cluster bootstrap; "
    "collect more respondents or pairs.",
    alarms="never",
)
CLUSTERS_WHY = (
    f"Cluster-robust standard errors are too small where fewer than about {ENOUGH} clusters show a level."
)


@check(CLUSTERS)
def clusters(judged: Sequence[JudgedChoices]) -> Check:
    """Count clusters of every level, for every judge and prompt."""
    table = tidy((group, _cluster_rows(group)) for group in judged)
    rows = table[table["clusters"] > 0]
    if rows.empty:
        return CLUSTERS.not_applicable("No pair has a choice.")
    row = lowest(rows, rows["effective"])
    finding = Note.of(
        "The level on the fewest clusters is {level} with {clusters:,} ({effective:,.1f} in "
        "effect) clusters by {column}, {who}.",
        level=level_of(row),
        clusters=int(row["clusters"]),
        effective=row["effective"],
        column=row["unit"],
        who=who(row),
    )
    verdict = verdict_of(float(row["effective"]))
    return CLUSTERS.answer(table, verdict, finding, () if verdict == "pass" else [CLUSTERS_WHY])


def _cluster_rows(group: JudgedChoices) -> pd.DataFrame:
    rows = [
        {
            "unit": unit,
            "feature": name,
            "level": level,
            "clusters": int((counts > 0).sum()),
            "effective": effective_number(counts),
            "largest": int(counts.max(initial=0)),
            "rows": int(counts.sum()),
        }
        for unit in group.unit
        for name, level, counts in counts_of_levels(
            group.answered, group.attributes, codes(group.answered[unit])
        )
    ]
    return pd.DataFrame(rows).assign(estimate=lambda table: table["effective"])
