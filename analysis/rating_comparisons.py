"""Sections that set results on ratings beside something: print, the truth, a second answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from .blocks import table_blocks
from .display import number, styled_table, whole
from .figures.labels import LabelKey, words
from .figures.raters.naming import Names
from .figures.raters.terms import TRUTHS
from .methods import plain
from .raters.published_checks import published_checks
from .raters.recovery import recovery_summary
from .rating_cells import dimension_of

if TYPE_CHECKING:
    from .report_ratings import RatingsReport


def published(report: RatingsReport) -> str:
    """Set printed numbers beside ours."""
    if report.manifest.get("simulated"):
        return "These judgments are simulated and are not compared with print."
    names = [name for name in ("published_means", "published_correlations") if report.has(name)]
    if not names:
        return "There are no printed numbers to compare these results with."
    return "\n\n".join(_beside(report, name) for name in names)


def _beside(report: RatingsReport, name: str) -> str:
    frame = report.table(name)
    apart = frame["difference"].abs()
    return (
        f"{words_of(name)}: {whole(len(frame))} printed numbers have one of ours beside them; the largest "
        f"difference is {number(apart.max())}, the median {number(apart.median(), 4)}."
    )


def words_of(name: str) -> str:
    """What a table of printed numbers is about."""
    return {"published_means": "Means and standard deviations", "published_correlations": "Correlations"}[
        name
    ]


def checks(report: RatingsReport) -> str:
    """What the printed numbers of the study say of each other; no data are needed for it."""
    found = published_checks()
    listed = [
        f"- **{plain(in_words(_upper(row['check']), report.words))}.** "
        f"{plain(in_words(row['finding'], report.words))}"
        for row in found.to_dict("records")
    ]
    return "The printed numbers can be checked against each other, without data.\n\n" + "\n".join(listed)


def in_words(text: object, labels: Mapping[LabelKey, str]) -> str:
    """Put the labels of judges and levels where a text names them by id.

    Examples
    --------
    >>> in_words("ratings by gpt_4_1.", {("judges", "gpt_4_1"): "GPT-4.1"})
    'ratings by GPT-4.1.'
    """
    told = str(text)
    for key, label in labels.items():
        if isinstance(key, tuple) and "_" in key[1]:
            told = re.sub(rf"\b{re.escape(key[1])}\b", label, told)
    return told


def _upper(text: object) -> str:
    return str(text)[:1].upper() + str(text)[1:]


def truth(report: RatingsReport) -> str:
    """Compare estimates with the true values that a simulation knows."""
    if not report.manifest.get("simulated"):
        return "These judgments are not marked as simulated: no true values are known."
    if not report.has("recovery"):
        return "The judgments are simulated, and no true values lie beside them."
    found = report.table("recovery")
    told = Names(report.words)
    summary = recovery_summary(found)
    counts = summary.groupby("quantity", sort=False)[["n_inside", "n_intervals"]].sum()
    shares = [
        f"{TRUTHS.get(str(name), words(name))} {_percent(row['n_inside'], row['n_intervals'])}"
        for name, row in counts.iterrows()
        if row["n_intervals"]
    ]
    shown = pd.DataFrame(
        {
            "quantity": summary["quantity"].map(lambda name: TRUTHS.get(str(name), words(name))),
            "Judge": summary["judge"].map(partial(told.of, "judge")),
            "Estimates": summary["n_estimates"].map(whole),
            "Intervals": summary["n_intervals"].map(whole),
            "Hold the truth": [
                _percent(row["n_inside"], row["n_intervals"]) or "none has one"
                for row in summary.to_dict("records")
            ],
            "Mean error": summary["mean_error"].map(number),
            "Mean size of error": summary["mean_abs_error"].map(number),
            "Largest": summary["max_abs_error"].map(number),
        }
    )
    note = (
        "Errors are estimate minus truth. Intervals of means, biases and correlations take the people as "
        "they are; the truth is that of all people who could have been drawn."
    )
    table = styled_table(shown, name="recovery", groups="quantity", note=note)
    return (
        f"Shares of intervals that hold the true value: {'; '.join(shares)} (@tbl-recovery). The folder has "
        f"all {whole(len(found))} estimates.\n\n"
        + table_blocks("recovery", [table], "Estimates beside true values.")
    )


def _percent(part: float, of: float) -> str:
    return f"{number(100 * float(part) / float(of), 0)}%" if of else ""


def both_answers(report: RatingsReport) -> str:
    """The replacement test beside the rater model: two answers to one question."""
    tests = [report.result(name).frame for name in report.of_kind("alt_test")]
    models = [name for name in report.records if report.records[name]["kind"] == "rater_model"]
    if not tests or not models:
        return (
            "The replacement test and the Bayesian rater model answer the same question in two ways; these "
            "results hold one of them only, or none."
        )
    return _answers_table(report, pd.concat(tests, ignore_index=True), models)


def _answers_table(report: RatingsReport, tests: pd.DataFrame, models: list[str]) -> str:
    tests = tests.drop_duplicates(["dimension", "model"], keep="last")
    beside = pd.concat([_chances(report, name) for name in models], ignore_index=True)
    both = tests.merge(beside, on=["dimension", "model"], how="inner")
    if both.empty:
        return "The replacement test and the rater model are about different dimensions or models."
    told = Names(report.words)
    shown = pd.DataFrame(
        {
            "dimension": both["dimension"].map(partial(dimension_of, told)),
            "Model": both["model"].map(partial(told.of, "judge")),
            "Winning rate": both["winning_rate"].map(lambda value: number(value, 2)),
            "Passes": both["passes"].map({True: "yes", False: "no"}),
            "Advantage probability": both["advantage_probability"].map(lambda value: number(value, 2)),
            "P(closer on an item)": both["closer_than_human"].map(lambda value: number(value, 2)),
            "P(follows more closely)": both["better_than_human"].map(lambda value: number(value, 2)),
        }
    )
    note = (
        "P(closer on an item): posterior probability that the model lies closer to the consensus than a "
        "random person on a random item; follows more closely: that its ratings correlate more with the "
        "consensus."
    )
    table = styled_table(shown, name="both-answers", groups="dimension", note=note)
    return (
        "@tbl-both-answers sets the test beside the rater model. The test compares a model with each person "
        "against the other raters of an item, and asks for significance against each; the rater model "
        "compares it with people in general, against their consensus. A model can follow the consensus about "
        "as well as people on single items and still lose in every comparison of the test.\n"
        + table_blocks("both_answers", [table], "The replacement test beside the rater model.")
    )


def _chances(report: RatingsReport, name: str) -> pd.DataFrame:
    """Probabilities of agreeing better than a random person, one row a model."""
    result = report.result(name)
    frame = result.frame
    chosen = frame[frame["quantity"].isin(CHANCES)]
    wide = chosen.pivot_table(index="group", columns="quantity", values="estimate", aggfunc="first")
    dimension = str(result.settings.get("dimension") or "")
    return wide.reset_index().rename(columns={"group": "model"}).assign(dimension=dimension)


CHANCES = ("closer_than_human", "better_than_human")
