"""Coefficients of agreement and measures of a validation, one record each: names, labels, possible values."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from .label_metrics import OF_A_CLASS

KAPPA, ALPHA = "\N{GREEK SMALL LETTER KAPPA}", "\N{GREEK SMALL LETTER ALPHA}"


@dataclass(frozen=True)
class AgreementCoefficient:
    """A coefficient of agreement of raters."""

    name: str
    label: str
    # what it compares: classes (with weights, also of an order), or numbers, by variances of items and raters
    family: Literal["classes", "one-way", "two-way", "generalisability", "ranks"]
    is_of_sides: bool = False  # whether it is also defined for two sides, such as a judge and people


AGREEMENT_COEFFICIENTS = (
    AgreementCoefficient("percent", "Observed agreement", "classes", is_of_sides=True),
    AgreementCoefficient("cohen", f"Cohen's {KAPPA}", "classes", is_of_sides=True),
    AgreementCoefficient("conger", f"Conger's {KAPPA}", "classes"),
    AgreementCoefficient("fleiss", f"Fleiss' {KAPPA}", "classes", is_of_sides=True),
    AgreementCoefficient("krippendorff", f"Krippendorff's {ALPHA}", "classes", is_of_sides=True),
    AgreementCoefficient("gwet", "Gwet's AC", "classes", is_of_sides=True),
    AgreementCoefficient("brennan_prediger", f"Brennan and Prediger's {KAPPA}", "classes", is_of_sides=True),
    AgreementCoefficient("icc1", "ICC(1)", "one-way"),
    AgreementCoefficient("icc1k", "ICC(1) of the mean", "one-way"),
    AgreementCoefficient("icc2", "ICC(2)", "two-way"),
    AgreementCoefficient("icc3", "ICC(3)", "two-way"),
    AgreementCoefficient("icc2k", "ICC(2) of the mean", "two-way"),
    AgreementCoefficient("icc3k", "ICC(3) of the mean", "two-way"),
    AgreementCoefficient("kendall_w", "Kendall's W", "ranks"),
    AgreementCoefficient("g_relative", "Relative generalisability", "generalisability"),
    AgreementCoefficient("g_absolute", "Absolute generalisability", "generalisability"),
)


def coefficients_of(*families: str) -> tuple[str, ...]:
    """Names of the coefficients of some families."""
    return tuple(record.name for record in AGREEMENT_COEFFICIENTS if record.family in families)


@dataclass(frozen=True)
class ValidationMeasure:
    """A measure of a judge next to people, or of two runs."""

    name: str
    label: str  # in tables
    least: float = -math.inf
    most: float = math.inf
    in_sentences: str = ""  # where it is not the label
    in_figures: str = ""  # the same
    digits: int = 2
    is_rounded_up: bool = False  # so that a margin that is printed is not smaller than needed

    @property
    def is_share(self) -> bool:
        """Whether the measure is printed in percent."""
        return (self.least, self.most) == SHARE


SHARE, COEFFICIENT = (0.0, 1.0), (-1.0, 1.0)
MEASURES = {
    measure.name: measure
    for measure in (
        ValidationMeasure("accuracy", "accuracy", *SHARE, "agreement", "agreement"),
        ValidationMeasure("kappa", "kappa", *COEFFICIENT, in_figures=KAPPA),
        ValidationMeasure("weighted_kappa", "weighted kappa", *COEFFICIENT, in_figures=f"weighted {KAPPA}"),
        ValidationMeasure("alpha", "alpha", *COEFFICIENT, in_figures=ALPHA),
        ValidationMeasure("ac1", "AC1", *COEFFICIENT),
        ValidationMeasure("icc", "intraclass correlation", *COEFFICIENT, "the intraclass correlation"),
        ValidationMeasure("pearson", "pearson", *COEFFICIENT),
        ValidationMeasure("spearman", "spearman", *COEFFICIENT),
        ValidationMeasure("recall", OF_A_CLASS["recall"].phrase, *SHARE),
        ValidationMeasure("precision", OF_A_CLASS["precision"].phrase, *SHARE),
        ValidationMeasure("f1", OF_A_CLASS["f1"].phrase, *SHARE),
        ValidationMeasure("rate", "rate", *SHARE),
        ValidationMeasure("judge_rate", "judge's rate", *SHARE),
        ValidationMeasure("people_rate", "people's rate", *SHARE),
        ValidationMeasure("corrected_rate", "people, by the judge's answer", *SHARE),
        ValidationMeasure("rogan_gladen_rate", "Rogan-Gladen", *SHARE),
        ValidationMeasure("judge_only_rate", "judge", *SHARE),
        ValidationMeasure("people_only_rate", "people, labelled rows", *SHARE),
        ValidationMeasure("answered", "answered by the judge", *SHARE),
        ValidationMeasure("flips", "changed answers", *SHARE),
        ValidationMeasure("always_most_frequent", "most frequent label alone", *SHARE),
        ValidationMeasure("winning_rate", "share of people beaten", *SHARE),
        ValidationMeasure("advantage_probability", "as close to others as a person", *SHARE),
        ValidationMeasure(
            "smallest_epsilon", "smallest epsilon that passes", *COEFFICIENT, digits=3, is_rounded_up=True
        ),
        ValidationMeasure("win_rate", "win rate", *SHARE),
        ValidationMeasure("judge_win_rate", "win rate by the judge", *SHARE),
        ValidationMeasure("people_win_rate", "win rate by people, labelled pairs", *SHARE),
        ValidationMeasure("length_adjusted_win_rate", "win rate at people's taste for length", *SHARE),
        ValidationMeasure("tie_rate", "ties", *SHARE),
        ValidationMeasure("first_share", "choices of the first position", *SHARE),
        ValidationMeasure("order_flips", "choices that change with the order", *SHARE),
        ValidationMeasure("order_changes", "verdicts that change with the order, ties included", *SHARE),
        ValidationMeasure("net_first", "always first minus always second", *COEFFICIENT),
        ValidationMeasure("length_slope", "judge, per log unit of length", digits=3),
        ValidationMeasure("people_length_slope", "people, per log unit of length", digits=3),
        ValidationMeasure("length_beyond_people", "judge minus people, per log unit of length", digits=3),
        ValidationMeasure("rank", "rank", 1.0, digits=0),
        ValidationMeasure("strength", "strength, log odds"),
        ValidationMeasure("order_effect", "effect of being shown first, log odds"),
        ValidationMeasure("tie_parameter", "log of Davidson's nu"),
        ValidationMeasure("automated_share", "share decided by the judge alone", *SHARE),
        ValidationMeasure("automated_error", "error of these verdicts", *SHARE),
        ValidationMeasure("effective_judges", "effective number of judges", 0.0),
        ValidationMeasure("error_correlation", "correlation of errors", *COEFFICIENT),
        ValidationMeasure("gain_over_best", "gain over the best judge", 0.0),
        ValidationMeasure("judge_mean", "judge's mean"),
        ValidationMeasure("people_mean", "people's mean"),
        ValidationMeasure("judge_only_mean", "mean by the judge"),
        ValidationMeasure("people_only_mean", "mean by people, labelled rows"),
        ValidationMeasure("corrected_mean", "mean by people, by the judge's answer"),
    )
}


def measure_of(name: str) -> ValidationMeasure:
    """The record of a measure, or of it in one run, of people, or a difference; without limits if unknown."""
    base = re.sub(r"(_a|_b|_between)$", "", name).removesuffix("_difference")
    unknown = ValidationMeasure(base, base.replace("_", " "))
    return MEASURES.get(base) or MEASURES.get(base.removeprefix("people_"), unknown)
