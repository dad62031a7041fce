"""Number of independent units that errors rest on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .check import Check, Question, Verdict, lowest, who
from .judged import Judged, codes, tidy
from .stimuli import ENOUGH, TOO_FEW, effective_number

QUESTION = Question(
    "clusters",
    "Number of clusters",
    "Are there enough independent respondents or pairs for cluster-robust errors?",
    "Use CR2 errors with Satterthwaite degrees of freedom, or the wild cluster bootstrap; collect more "
    "respondents or pairs.",
)
WHY = (
    "Cluster-robust errors average over clusters and are too small where a level rests on fewer than "
    f"about {ENOUGH} of them."
)


def clusters(judged: Sequence[Judged]) -> Check:
    """Count clusters of every level, for every judge and prompt."""
    table = tidy((group, _of_judge(group)) for group in judged)
    used = table[table["clusters"] > 0]
    if used.empty:
        return QUESTION.not_applicable("No pair has a choice.")
    few = lowest(used, used["effective"])
    finding = (
        f"The level on the fewest clusters is {few['feature']} = {few['level']} with "
        f"{int(few['clusters']):,} ({few['effective']:,.1f} in effect) of {few['unit']}, {who(few)}."
    )
    least = float(few["effective"])
    verdict: Verdict = "fail" if least < TOO_FEW else "look" if least < ENOUGH else "pass"
    return QUESTION.answer(table, verdict, finding if verdict == "pass" else f"{finding} {WHY}")


def _of_judge(group: Judged) -> pd.DataFrame:
    rows = []
    for unit in group.unit:
        number = codes(group.answered[unit])
        n = int(number.max(initial=-1)) + 1
        for name in group.attributes:
            column = group.answered[name].astype("category")
            code = codes(column)
            for place, level in enumerate(column.cat.categories):
                counts = np.bincount(number[(code == place) & (number >= 0)], minlength=n)
                rows.append(
                    {
                        "unit": unit,
                        "feature": name,
                        "level": str(level),
                        "clusters": int((counts > 0).sum()),
                        "effective": effective_number(counts),
                        "largest": int(counts.max(initial=0)),
                        "rows": int(counts.sum()),
                    }
                )
    return pd.DataFrame(rows).assign(estimate=lambda table: table["effective"])
