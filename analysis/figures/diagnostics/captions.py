"""Captions of the figures of the diagnostics: what points and bars are."""

from __future__ import annotations

INTERVALS = "bars: {level} confidence intervals, not adjusted for their number"
RANDOM = "bars: the middle 95% of designs drawn at random"
SPREAD = "bars: from the lowest to the highest"

CAPTIONS = {
    "design_card": "Points: effective rows of each level's contrast with the reference, the median over "
    f"judges and prompts; {SPREAD}.",
    "position_balance": "Points: share of a level in position A minus its share in B, in standard deviations "
    f"of the level; {INTERVALS}.",
    "respondent_balance": "Points: variation of levels between respondents over that expected of random "
    "assignment (1: as expected); bars: the middle 95% of random assignments.",
    "design_probabilities": "Points: share of a level observed minus its share in the study file; "
    f"{INTERVALS}.",
    "attribute_independence": "Points: chi-square statistic of two attributes over that expected of "
    f"independent ones (1: as expected); {RANDOM}.",
    "impossible_profiles": "Points: profiles or pairs that break a rule of the design; equal profiles in a "
    "pair occur by chance, too.",
    "position_share": f"Points: share of pairs in which position A was chosen; {INTERVALS}.",
    "profile_order": f"Points: AMCE in position B minus AMCE in position A; {INTERVALS}.",
    "task_order": f"Points: change of an AMCE over tasks; {INTERVALS}.",
    "carry_over": "Points: change in the probability of being chosen associated with the previous task; "
    f"{INTERVALS}.",
    "attention_filters": "Points: AMCE of respondents who passed minus AMCE of those who failed; "
    f"{INTERVALS}.",
    "repeat_agreement": f"Points: share of repeated pairs with the same choice; {INTERVALS}.",
    "straight_lining": "Bars: respondents by their longest run of one position; points: respondents that "
    "independent choices would give.",
    "response_times": "Bars: respondents by their median response time; dashed: the median respondent.",
    "answers": "Points: share of pairs without a single choice, by what was answered.",
    "missing_choices": "Points: share of pairs without a choice that show a level minus the share expected "
    f"of choices missing at random; {INTERVALS}. Where no choice is missing: the share of each judge.",
    "stimuli": "Points: standard error clustered by stimulus over that clustered by unit, the median over "
    f"judges and prompts; {SPREAD}.",
    "clusters": f"Points: effective number of clusters of each level, the median over judges and prompts; "
    f"{SPREAD}.",
}


def caption(name: str, title: str, alpha: float) -> str:
    """Caption of the figure of a check: what points and bars are, and at which level."""
    told = CAPTIONS.get(name, "").format(level=f"{100 * (1 - alpha):g}%")
    return f"{title}. {told}".rstrip()
