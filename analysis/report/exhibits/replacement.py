"""May a model replace a person? The replacement test beside the Bayesian model, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...figures.labels import words
from ...figures.raters import alt_of, figure_of
from ...figures.raters.naming import Names
from ...results import Result
from ..cells import dimension_of
from ..markdown import captioned, picture, table_blocks
from ..tables import NO_BREAK, interval, number, styled_table

if TYPE_CHECKING:
    from ..ratings_report import RatingsReport

KEYS = ["dimension", "scoring", "model"]
MODELS = ("rater_model", "label_model")
CHANCES = ("closer_than_human", "better_than_human")
HEADINGS = {
    "winning_rate": "Winning rate",
    "advantage_probability": "Advantage probability",
    "closer_than_human": "P(closer on an item)",
    "better_than_human": "P(follows more closely)",
    "accuracy_difference": "Accuracy less a person's",
}
NOTES = {
    "closer_than_human": (
        "P(closer on an item): posterior probability that the model lies closer to the consensus than a "
        "random person on a random item."
    ),
    "better_than_human": (
        "P(follows more closely): that its ratings correlate more with the consensus than a random person's."
    ),
    "accuracy_difference": (
        "Accuracy less a person's: probability of the right label, less that of a fresh person."
    ),
}


def both_answers(report: RatingsReport) -> str:
    """The replacement test beside the rater model: two answers to one question."""
    tests = [report.result(name).frame for name in report.of_kind("alt_test")]
    models = [report.result(name) for kind in MODELS for name in report.of_kind(kind)]
    if not tests or not models:
        return (
            "The replacement test and the Bayesian rater model answer the same question in two ways; these "
            "results hold one of them only, or none."
        )
    told = pd.concat(tests, ignore_index=True).drop_duplicates(KEYS, keep="last")
    answers = beside(told, pd.concat([answers_of(model) for model in models], ignore_index=True))
    if answers.empty:
        return "The replacement test and the rater model are about different dimensions or models."
    return _shown(report, told, answers)


def answers_of(model: Result) -> pd.DataFrame:
    """What a Bayesian model says of each model: ``dimension, model, quantity, estimate, lower, upper``."""
    dimension = str(model.settings.get("dimension") or "")
    if model.kind == "label_model":
        found = model.extra.get("replacement", pd.DataFrame(columns=["model", "estimate", "lower", "upper"]))
        found = found.drop_duplicates("model").assign(quantity="accuracy_difference")
    else:
        found = model.frame[model.frame["quantity"].isin(CHANCES)].rename(columns={"group": "model"})
    return found.assign(dimension=dimension)[["dimension", "model", "quantity", "estimate", "lower", "upper"]]


def beside(tests: pd.DataFrame, posterior: pd.DataFrame) -> pd.DataFrame:
    """Both answers for the models and dimensions that have both, in one long table."""
    parts = []
    for quantity in ("winning_rate", "advantage_probability"):
        bounds = {
            end: tests[f"{quantity}_{end}"] if f"{quantity}_{end}" in tests else float("nan")
            for end in ("lower", "upper")
        }
        parts.append(tests[KEYS].assign(quantity=quantity, estimate=tests[quantity], **bounds))
    shared = tests[KEYS].merge(posterior, on=["dimension", "model"])
    both = pd.concat([*parts, shared], ignore_index=True)
    kept = both.merge(shared[KEYS].drop_duplicates(), on=KEYS)
    return kept[[*KEYS, "quantity", "estimate", "lower", "upper"]]


def _shown(report: RatingsReport, tests: pd.DataFrame, answers: pd.DataFrame) -> str:
    names = Names(report.words)
    quantities = [name for name in HEADINGS if name in set(answers["quantity"])]
    several = answers["scoring"].nunique() > 1
    cells = answers.set_index([*KEYS, "quantity"])
    passes = tests.set_index(KEYS)["passes"]
    rows = []
    for keys in answers[KEYS].drop_duplicates().itertuples(index=False, name=None):
        dimension, scoring, model = keys
        row = {
            "dimension": dimension_of(names, dimension) + (f", {words(scoring)}" if several else ""),
            "Model": names.of("judge", model),
            "Passes": {True: "yes", False: "no"}.get(passes[keys], ""),
        }
        for name in quantities:
            found = cells.loc[(*keys, name)] if (*keys, name) in cells.index else None
            row[HEADINGS[name]] = "" if found is None else _cell(found)
        rows.append(row)
    epsilon = " and ".join(f"{value:g}" for value in dict.fromkeys(tests["epsilon"]))
    brackets = "In brackets: intervals of the bootstrap (test) and of the posterior (model)."
    told = [NOTES[name] for name in quantities if name in NOTES]
    note = " ".join([f"Epsilon {epsilon}.", brackets, *told])
    table = styled_table(pd.DataFrame(rows), name="both-answers", groups="dimension", note=note)
    drawn = Result(answers, "both_answers")
    figure = picture("both_answers", figure_of(drawn, labels=report.words), alt_of(drawn, report.words))
    return (
        "@fig-both-answers and @tbl-both-answers set the test beside the Bayesian model. The test compares a "
        "model with each person against the other raters of an item, and asks for significance against each; "
        "the Bayesian model compares it with people in general, against their consensus. A model can follow "
        "the consensus about as well as people on single items and still lose in every comparison of the "
        "test.\n\n"
        + _reading(answers, names)
        + captioned("fig-both-answers", figure, "The replacement test beside the Bayesian model.")
        + table_blocks("both_answers", [table], "The replacement test beside the Bayesian model.")
    )


def _cell(found: pd.Series[float]) -> str:
    bounds = interval(found["lower"], found["upper"], 2)
    return NO_BREAK.join(filter(None, (number(found["estimate"], 2), bounds)))


def _reading(answers: pd.DataFrame, names: Names) -> str:
    """Say how many models the posterior puts ahead of a random person, behind, or neither."""
    half = {"closer_than_human": 0.5, "accuracy_difference": 0.0}
    part = answers[answers["quantity"].isin(half)].drop_duplicates(["dimension", "model"])
    if part.empty:
        return ""
    line = part["quantity"].map(half).astype(float)
    ahead, behind = int((part["lower"] > line).sum()), int((part["upper"] < line).sum())
    return (
        f"By intervals of the posterior, {ahead} of {len(part)} models are ahead of a random person, "
        f"{behind} behind, and {len(part) - ahead - behind} cannot be told apart from one.\n"
    )
