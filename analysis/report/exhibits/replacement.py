"""The exhibit of the replacement test and the Bayesian model together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...figures.labels import words
from ...results import Result
from ..data import ReportData
from ..tables import NO_BREAK, dimension_of, interval, number, styled_table
from .registry import Drawn, Exhibit, Laid, exhibit

if TYPE_CHECKING:
    from ...pipeline.manifest import Recorded

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


@exhibit("both_answers", of="alt_test")
def both_answers(result: Result, record: Recorded, report: ReportData) -> Exhibit:
    """The replacement test and the rater model: two answers to one question."""
    tests = pd.concat([report.read(one).frame for one in report.of_kind("alt_test")], ignore_index=True)
    tests = tests.drop_duplicates(KEYS, keep="last")
    models = [answers_of(report.read(one)) for one in report.of_kind(*MODELS)]
    answers = beside(tests, pd.concat(models, ignore_index=True)) if models else pd.DataFrame()
    if answers.empty:
        return Exhibit()
    names = report.names
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
    notes = [NOTES[name] for name in quantities if name in NOTES]
    note = " ".join([f"Epsilon {epsilon}.", brackets, *notes])
    table = styled_table(pd.DataFrame(rows), name="both-answers", groups="dimension", note=note)
    lead = (
        "{figure} and {table} compare the test with the Bayesian model. The test compares a model with each "
        "person against the other raters of an item, and asks for significance against each; the Bayesian "
        "model compares it with people in general, against their consensus. A model can follow the consensus "
        "about as well as people on single items and still lose in every comparison of the test."
    )
    text = "The replacement test and the Bayesian model."
    drawn = Drawn(Result(answers, "both_answers"), text)
    return Exhibit(lead, [drawn], [Laid([table], text)], _reading(answers))


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


def _cell(found: pd.Series[float]) -> str:
    bounds = interval(found["lower"], found["upper"], 2)
    return NO_BREAK.join(filter(None, (number(found["estimate"], 2), bounds)))


def _reading(answers: pd.DataFrame) -> str:
    """Say how many models the posterior puts ahead of a random person, behind, or neither."""
    half = {"closer_than_human": 0.5, "accuracy_difference": 0.0}
    part = answers[answers["quantity"].isin(half)].drop_duplicates(["dimension", "model"])
    if part.empty:
        return ""
    line = part["quantity"].map(half).astype(float)
    ahead, behind = int((part["lower"] > line).sum()), int((part["upper"] < line).sum())
    return (
        f"By intervals of the posterior, {ahead} of {len(part)} models are ahead of a random person, "
        f"{behind} behind, and {len(part) - ahead - behind} cannot be distinguished from one."
    )
