"""Identifiers that analyses write into their tables and that figures, tables and reports read there."""

from __future__ import annotations

HUMAN = "human"  # kind and group of people
AGAINST_PEOPLE = "people"  # setting `against` of comparisons of models with people
ONE_PERSON = "one person"  # judge: the ratings of one person at a time
OVERALL = "overall"  # stratum: all items
PEOPLE_ONLY, CORRECTED_BY_MODELS = "human only", "corrected"  # sources of estimates among people
ONLY = " only"  # ends the source of a model alone
AGAIN = ", again"  # a group whose members rated items twice, each compared with themselves
CORRELATION_COEFFICIENTS = ("pearson", "spearman", "kendall")
TIES = ("wrong", "split", "right")
TIER_QUANTITIES = ("complete_order", "ordered_pairs")
MAJORITY, RANDOM = "majority class", "random"
MAJORITY_BY_STRATUM = "majority class by stratum"
BASELINE = "baseline"  # judge_kind of judges that always give the same label, or a random one
MEANING = "meaning of "  # begins the key of what levels of a column mean, among labels
FEWEST_GOLD = 10  # units with a label in gold from which the use of the label is compared with gold
RATER_QUANTITIES = {  # of a model of raters
    "discrimination": "Discrimination: how strongly ratings follow the consensus, in SDs of the noise",
    "discrimination_sd": "SD of log discrimination between people",
    "severity_sd": "SD of severity between people, in SDs of the noise",
    "severity_points": "Severity: points of the scale below people's average",
    "own_sd": "SD of stable individual judgments of items, in SDs of the noise",
    "latent_correlation": "Latent correlation of the stable judgment with the consensus",
    "latent_correlation_rating": "Latent correlation of a single rating with the consensus",
    "latent_correlation_within": "The same within strata",
    "same_rating": "Probability of the same rating as a random person",
    "distance": "Expected distance from the consensus, in points of the scale",
    "correlation": "Correlation of ratings with the consensus",
    "better_than_human": "Probability of following the consensus more closely than a random person",
    "closer_than_human": "Probability of being closer to the consensus in points, on one item, than a "
    "random person",
}
PASSING = 0.5  # share of annotators to win against in the alternative annotator test

# What levels and differences of systems rest on.
CORRECTED_LABELS, LABELS_ALONE, JUDGE_ALONE, OTHERS_LABELS = SYSTEM_SOURCES = (
    "corrected",
    "labels alone",
    "judge alone",
    "borrowed",
)
