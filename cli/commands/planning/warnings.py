"""What a design card warns of, and what its numbers rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from conjury.inference.study.models import Study
from conjury.inference.study.parts import Combination
from conjury.inference.study.restrictions import advice

from .planned import Judged

if TYPE_CHECKING:
    from conjury.analysis.conjoint.power.design_card import DesignCard

FEW = 200  # effective profiles below which a contrast is warned of
STRONG = 0.1  # Cramer's V above which attributes are warned of
UNUSUAL = 4.0  # standard errors between the share of a level in the design and in the pairs drawn


def in_words(study: Study, combination: Combination) -> str:
    """Say what a combination of levels is."""
    return " and ".join(
        f"{study.feature_labels[name]} = {' or '.join(study.level_labels[name][level] for level in levels)}"
        for name, levels in combination.levels.items()
    )


def warnings_of(study: Study, card: DesignCard) -> list[str]:
    """Warn of implausible combinations, ties between attributes, and levels that are shown too seldom."""
    told = []
    for row in card.implausible.to_dict("records"):
        combination = study.design.implausible[row["combination"]]
        if row["probability"] > 0:
            because = f" ({combination.because.rstrip('.')})" if combination.because else ""
            told.append(
                f"Implausible: {in_words(study, combination)}{because}. Expected in {row['profiles']:,.0f} "
                f"profiles and {100 * row['pairs'] / card.n_pairs:.1f}% of pairs, drawn in "
                f"{row['profiles_drawn']:,} profiles and {row['pairs_drawn']:,} pairs. To exclude it, move "
                "its entry from implausible to restrictions in the study file."
            )
    labels = study.feature_labels
    for row in card.ties.to_dict("records"):
        if row["cramers_v"] > STRONG:
            told.append(
                f"Restrictions tie {labels[row['feature']]} to {labels[row['partner']]} "
                f"(Cramer's V {row['cramers_v']:.2f}): marginal means of one mix in the other, and contrasts "
                "have less power."
            )
    told += advice(study)
    return told + _rare(study, card)


def _rare(study: Study, card: DesignCard) -> list[str]:
    """Warn of levels that are shown too seldom, or not as often as the design says."""
    told = []
    for row in card.levels[~card.levels["derived"]].to_dict("records"):
        what = f"{study.feature_labels[row['feature']]}: {study.level_labels[row['feature']][row['level']]}"
        share = row["probability"]
        error = math.sqrt(2 * card.n_pairs * share * (1 - share))
        if not row["shown"]:
            told.append(f"{what} is in none of the pairs drawn; draw more pairs.")
        elif abs(row["shown"] - row["expected"]) > UNUSUAL * error:
            told.append(
                f"{what} is shown {row['shown']:,} times where {row['expected']:,.0f} are expected. Profiles "
                "are drawn without replacement, which evens out unequal shares where most of them are used."
            )
    few = card.contrasts[(card.contrasts["plan"] == "models") & (card.contrasts["effective"] < FEW)]
    for feature, rows in few.groupby("feature", sort=False):
        told.append(
            f"{study.feature_labels[str(feature)]}: contrasts rest on {rows['effective'].min():,.0f} "
            f"effective profiles; for {FEW} or more plan more pairs, or merge levels."
        )
    return told


def notes_on(study: Study, card: DesignCard, groups: Sequence[Judged]) -> list[str]:
    """Say what the numbers of a card rest on."""
    told = list(dict.fromkeys(note for found in card.powers for note in found.design_notes))
    if any(group.kind == "human" for group in groups):
        told.append(
            "Effects are assumed to be equal across respondents; `conjury power` with --icc plans for others."
        )
    if study.stimuli and groups:
        told.append("Stimuli count as fixed; `conjury power` with --stimulus-sd plans for others like them.")
    return told
