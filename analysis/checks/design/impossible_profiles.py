"""Profiles and pairs that the design excludes, or that occur more often than by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import poisson

from conjury.inference.design.profiles import attribute_cells
from conjury.inference.errors import counted
from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import is_allowed
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note, join_notes
from ..judged import JudgedChoices, codes, designs, tidy
from ..registry import Check, Question, adjusted, check, highest, show_p, who
from .design_draws import probabilities

IMPOSSIBLE_PROFILES = Question(
    code="CJ106",
    name="impossible_profiles",
    title="Profiles that should not occur",
    text="Are all profiles possible under the design, and are identical profiles in a pair no more frequent "
    "than by chance?",
    consequence="Estimates average choices between impossible profiles with the others.",
    remedy="Exclude these pairs until their attributes are known.",
    alarms="test",
)
RARE = 0.001  # a larger share of broken pairs, beyond what chance gives, fails
UNKNOWN = "attribute missing or of an unknown level"
SAME = "identical profiles in a pair"
VARIES = "profile_id with differing attributes"
EXCLUDED = "combination that the design excludes"
REMEDIES = {
    UNKNOWN: "Correct how the file is parsed, or add the level to the study.",
    SAME: "Report AMCEs without these pairs, which contain no information on attributes, and check why "
    "they are more frequent than under independent draws: rows may have been joined to themselves, or the "
    "draw may be faulty.",
    EXCLUDED: "Check why the program that drew the profiles did not observe the restrictions of the study "
    "file, or correct these.",
    VARIES: "Correct the join of attributes to profiles, or give every presentation its own profile_id.",
}
STIMULUS = "Correct the join of texts and authors to profiles, or their ids, which begin with the level."


@check(IMPOSSIBLE_PROFILES)
def impossible_profiles(study: Study, judged: Sequence[JudgedChoices], alpha: float) -> Check:
    """Count what breaks the rules of the design, in every design."""
    # Two independent profiles are equal now and then, so pairs of equal ones count only where they are more
    # frequent than the design's probabilities imply (Poisson test); all other rules expect no case.
    groups = designs(judged)
    tables = [_rule_rows(study, members[0]).assign(design=k) for k, members in enumerate(groups)]
    counts = pd.concat(tables, ignore_index=True)
    p = poisson.sf(counts["n"] - 1, counts["expected"])
    by_chance = counts["expected"].to_numpy() > 0
    counts["p_adjusted"] = np.where(by_chance, adjusted(np.where(by_chance, p, np.nan)), p)
    table = tidy(
        (g, counts[counts["design"] == k].drop(columns="design"))
        for k, members in enumerate(groups)
        for g in members
    )
    rules = table["rule"].nunique()
    broken = table[table["p_adjusted"] < alpha]
    if broken.empty:
        return IMPOSSIBLE_PROFILES.answer(
            table,
            "pass",
            join_notes(
                [
                    Note.of("None of {rules} of the design is broken.", rules=counted(rules, "rule")),
                    _same_by_chance(table),
                ]
            ),
            p=float(table["p_adjusted"].min()),
        )
    most = highest(broken, broken["n"])
    stimulus_rules = {str(rule): rule for s in study.stimuli for rule in [_other_owner(s.id, s.attribute)]}
    finding = Note.of(
        "{n:,} of {of:,}: {rule} ({who}; {example}); {broken} of {rules} {verb} broken.",
        n=most["n"],
        of=most["of"],
        rule=stimulus_rules.get(most["rule"], most["rule"]),
        who=who(most),
        example=join_notes(
            [Note.of("for example {pair}", pair=most["example"]), _describe_excess(most)], "; "
        ),
        broken=broken["rule"].nunique(),
        rules=counted(rules, "rule"),
        verb="is" if broken["rule"].nunique() == 1 else "are",
    )
    share = float(((broken["n"] - broken["expected"]) / broken["of"]).max())
    remedy = " ".join(dict.fromkeys(REMEDIES.get(rule, STIMULUS) for rule in broken["rule"]))
    return IMPOSSIBLE_PROFILES.answer(
        table,
        "error" if share > RARE else "warning",
        finding,
        remedy=f"{remedy} {IMPOSSIBLE_PROFILES.remedy}",
        p=float(table["p_adjusted"].min()),
    )


def expected_same(study: Study, stimuli: Sequence[str]) -> float:
    """Probability that two profiles drawn independently are the same, by attributes and some stimuli."""
    if study.design.restrictions:
        same = [float((attribute_cells(study)["probability"] ** 2).sum())]
    else:
        same = [sum(share**2 for share in each.values()) for each in probabilities(study).values()]
    return float(np.prod(same + [1 / s.count for s in study.stimuli if s.id in stimuli]))


def rules_broken(study: Study, profiles: pd.DataFrame) -> dict[str, np.ndarray]:
    """Flag what the design cannot produce."""
    names = [a.id for a in study.attributes]
    stimuli = [s.id for s in study.stimuli if s.id in profiles and profiles[s.id].notna().all()]
    unknown = np.zeros(len(profiles), dtype=bool)
    for name in names:
        unknown |= ~as_text(profiles[name]).isin(study.levels(name)).to_numpy(dtype=bool)
    broken = {UNKNOWN: unknown}
    if study.design.restrictions:
        numbers = {
            name: codes(as_text(profiles[name]).astype(pd.CategoricalDtype(study.levels(name))))
            for name in names
        }
        broken[EXCLUDED] = ~is_allowed(study, numbers) & ~unknown
    same = np.ones(len(profiles) // 2, dtype=bool)
    for name in [*names, *stimuli]:
        number = pd.factorize(profiles[name])[0].reshape(-1, 2)
        same &= number[:, 0] == number[:, 1]
    if stimuli or not study.stimuli:
        broken[SAME] = same
    for stimulus in study.stimuli:
        if stimulus.id in stimuli:
            owner = profiles[stimulus.id].astype("string").str.replace(r"_\d+$", "", regex=True)
            level = as_text(profiles[stimulus.attribute])
            named = owner.isin(study.levels(stimulus.attribute)).to_numpy(dtype=bool)
            strange = named & (owner != level).fillna(False).to_numpy(dtype=bool)
            broken[str(_other_owner(stimulus.id, stimulus.attribute))] = strange
    identified = profiles["profile_id"].notna().to_numpy()
    if identified.all() and profiles["profile_id"].nunique() > 1:
        content = [pd.factorize(profiles[name])[0] for name in names]
        by_profile = pd.DataFrame(dict(enumerate(content))).groupby(profiles["profile_id"].to_numpy())
        varies = (by_profile.transform("min") != by_profile.transform("max")).any(axis=1).to_numpy()
        broken[VARIES] = varies
    return broken


def _other_owner(stimulus: str, attribute: str) -> Note:
    """The rule that a stimulus belongs to the level of its attribute, as it is broken."""
    return Note.of("{column} of another {feature}", column=stimulus, feature=attribute)


def _rule_rows(study: Study, group: JudgedChoices) -> pd.DataFrame:
    chance = expected_same(study, group.stimuli)
    rows = []
    for rule, flags in rules_broken(study, group.shown).items():
        step = len(group.shown) // len(flags)
        pair = str(group.shown["pair_id"].iloc[int(flags.argmax()) * step]) if flags.any() else ""
        rows.append(
            {
                "rule": rule,
                "n": int(flags.sum()),
                "of": len(flags),
                "expected": len(flags) * chance if rule == SAME else 0.0,
                "example": f"pair {pair}" if pair else "",
            }
        )
    return pd.DataFrame(rows)


def _describe_excess(row: pd.Series) -> str:
    if row["expected"] == 0:
        return ""
    return Note.of(
        "{expected} expected by chance, {p}",
        expected=_rounded(row["expected"]),
        p=show_p(float(row["p_adjusted"])),
    )


def _same_by_chance(table: pd.DataFrame) -> str:
    same = table[(table["rule"] == SAME) & (table["n"] > 0)]
    if same.empty:
        return ""
    most = highest(same, same["n"])
    return Note.of(
        "{pairs} the same profile twice ({who}), where independent draws give {expected}.",
        pairs=counted(int(most["n"]), "pair contains", "pairs contain"),
        who=who(most),
        expected=_rounded(most["expected"]),
    )


def _rounded(expected: float) -> str:
    return f"{expected:,.1f}" if expected >= 1 else f"{expected:.1g}"
