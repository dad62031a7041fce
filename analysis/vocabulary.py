"""Words of result tables that analyses write and figures and reports look for: kinds, groups, quantities."""

from __future__ import annotations

HUMAN = "human"  # kind of judge, and the group of all people
BASELINE = "baseline"  # kind of judge
MAJORITY, RANDOM = "majority class", "random"  # judges of kind baseline
MAJORITY_BY_STRATUM = "majority class by stratum"
ONE_PERSON = "one person"  # judge: single ratings by people
OVERALL = "overall"  # level of a stratum: all items
AGAIN = ", again"  # ends the name of a group whose members rated items twice, each compared with themselves

CORRELATION_COEFFICIENTS = ("pearson", "spearman", "kendall")
TIES = ("wrong", "split", "right")  # what ties of tiers count as
TIER_QUANTITIES = ("complete_order", "ordered_pairs")

FEWEST_GOLD = 10  # gold units of a label, below which its use is not called too frequent or too rare
