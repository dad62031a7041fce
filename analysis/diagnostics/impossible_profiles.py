"""Profiles and pairs that the design cannot produce."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.study import Study

from .check import Check, Question, highest, who
from .judged import Judged, designs, tidy

QUESTION = Question(
    "impossible_profiles",
    "Profiles that should not occur",
    "Does every pair hold two different profiles that the study can draw?",
    "Correct the join of attributes to profiles or the reading of the file; leave these pairs out until "
    "their attributes are known.",
)
RARE = 0.001  # a larger share of broken pairs fails


def impossible_profiles(study: Study, judged: Sequence[Judged]) -> Check:
    """Count what breaks the rules of the design, in every design."""
    table = tidy((g, counted) for m in designs(judged) for counted in [_of_design(study, m[0])] for g in m)
    broken = table[table["n"] > 0]
    if broken.empty:
        finding = f"No profile breaks any of {table['rule'].nunique()} rules of the design."
        return QUESTION.answer(table, "pass", finding)
    most = highest(broken, broken["n"])
    finding = (
        f"{most['n']:,} of {most['of']:,}: {most['rule']} ({who(most)}; for example {most['example']}); "
        f"{broken['rule'].nunique()} of {table['rule'].nunique()} rules are broken."
    )
    share = float((broken["n"] / broken["of"]).max())
    return QUESTION.answer(table, "fail" if share > RARE else "look", finding)


def rules_broken(study: Study, shown: pd.DataFrame) -> dict[str, np.ndarray]:
    """Flag what the design cannot produce.

    Parameters
    ----------
    study : Study
    shown : DataFrame, 2 rows a pair
        Profiles in the order A, B, A, B, ...

    Returns
    -------
    dict of str to ndarray of bool
        Rule in words to flags by row, shape (2 pairs,), or by pair, shape (pairs,).
    """
    names = [a.id for a in study.attributes]
    stimuli = [s.id for s in study.stimuli if s.id in shown and shown[s.id].notna().all()]
    unknown = np.zeros(len(shown), dtype=bool)
    for name in names:
        unknown |= ~shown[name].astype("string").isin(study.levels(name)).to_numpy(dtype=bool)
    broken = {"attribute missing or of an unknown level": unknown}
    same = np.ones(len(shown) // 2, dtype=bool)
    for name in [*names, *stimuli]:
        number = pd.factorize(shown[name])[0].reshape(-1, 2)
        same &= number[:, 0] == number[:, 1]
    if stimuli or not study.stimuli:
        broken["both profiles of a pair the same"] = same
    for stimulus in study.stimuli:
        if stimulus.id in stimuli:
            owner = shown[stimulus.id].astype("string").str.replace(r"_\d+$", "", regex=True)
            level = shown[stimulus.attribute].astype("string")
            named = owner.isin(study.levels(stimulus.attribute)).to_numpy(dtype=bool)
            strange = named & (owner != level).fillna(False).to_numpy(dtype=bool)
            broken[f"{stimulus.id} of another {stimulus.attribute}"] = strange
    identified = shown["profile_id"].notna().to_numpy()
    if identified.all() and shown["profile_id"].nunique() > 1:
        content = [pd.factorize(shown[name])[0] for name in names]
        by_profile = pd.DataFrame(dict(enumerate(content))).groupby(shown["profile_id"].to_numpy())
        varies = (by_profile.transform("min") != by_profile.transform("max")).any(axis=1).to_numpy()
        broken["profile_id with differing attributes"] = varies
    return broken


def _of_design(study: Study, group: Judged) -> pd.DataFrame:
    rows = []
    for rule, flags in rules_broken(study, group.shown).items():
        step = len(group.shown) // len(flags)
        pair = str(group.shown["pair_id"].iloc[int(flags.argmax()) * step]) if flags.any() else ""
        rows.append(
            {
                "rule": rule,
                "n": int(flags.sum()),
                "of": len(flags),
                "example": f"pair {pair}" if pair else "",
            }
        )
    return pd.DataFrame(rows)
