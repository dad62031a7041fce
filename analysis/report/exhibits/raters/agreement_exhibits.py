"""Exhibits of agreement coefficients, of replacement tests and their power, and of both answers together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ....figures import parts
from ....figures.labels import COEFFICIENTS, WEIGHTS, ColumnNames, level_of, true_minus, words
from ....figures.raters.agreement_figures import compared_in_words
from ....figures.raters.replacement_power_figure import scenario_name
from ....frames.rounding import rounded, rounded_up
from ....frames.vocabulary import HUMAN, PASSING
from ....raters.replacement import epsilon_curve
from ....raters.replacement.decide import epsilons
from ....results import Result
from ...method_sentences import plain
from ...report_data import ReportData
from ...sentences.rater_sentences import (
    ahead_in_words,
    count_models_ahead,
    count_passed_tests,
    passed_in_words,
)
from ...table_format import (
    DIGITS,
    Row,
    dimension_of,
    estimate_cell,
    number,
    side_by_side,
    spread,
    styled_table,
    whole,
    with_gaps,
)
from ..exhibit_registry import Drawn, Exhibit, Laid, ended, exhibit
from ..template import tables_of

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

SHOWN_COEFFICIENTS = (
    ("percent", "nominal"),
    ("cohen", "quadratic"),
    ("fleiss", "nominal"),
    ("krippendorff", "nominal"),
    ("krippendorff", "ordinal"),
    ("krippendorff", "quadratic"),
    ("gwet", "nominal"),
    ("gwet", "quadratic"),
    ("icc2", ""),
    ("g_absolute", ""),
    ("kendall_w", ""),
)


SHOWN_EPSILONS = 7

KEYS = ["dimension", "scoring", "model"]
MODELS = ("rater_model", "label_model")
CHANCES = ("closer_than_human", "better_than_human")
HEADINGS = {
    "winning_rate": "Winning rate",
    "advantage_probability": "Advantage probability",
    "closer_than_human": "P(closer on an item)",
    "better_than_human": "P(follows more closely)",
    "accuracy_difference": "Accuracy minus a person's",
}
NOTES = {
    "closer_than_human": (
        "P(closer on an item): posterior probability that the model is closer to the consensus than a "
        "random person on a random item."
    ),
    "better_than_human": (
        "P(follows more closely): that its ratings correlate more with the consensus than a random person's."
    ),
    "accuracy_difference": (
        "Accuracy minus a person's: probability of the right label, minus that of a new person."
    ),
}


def passed_tests(result: Result, names: ColumnNames) -> str:
    """How many tests are passed, and by which models where they are few."""
    names_of_models = [
        names.of("judge", row["model"])
        + (f" ({dimension_of(names, row['dimension'])})" if row["dimension"] else "")
        for row in result.frame.to_dict("records")
    ]
    return passed_in_words(count_passed_tests(result.frame, names_of_models, result.settings["epsilon"]))


def _tested(frame: pd.DataFrame, names: ColumnNames) -> dict[str, pd.Series[str]]:
    """What each row tests: dimension, with the scoring where there are several, and model."""
    scoring = ", " + frame["scoring"].map(words) if frame["scoring"].nunique() > 1 else ""
    dimension = frame["dimension"].map(partial(dimension_of, names)) + scoring
    return {"dimension": dimension, "Model": frame["model"].map(partial(names.of, "judge"))}


def curve_table(result: Result, names: ColumnNames) -> GT:
    """Winning rates of an alternative annotator test over epsilon."""
    frame = epsilon_curve(result, at_equal_steps(epsilons(result))).frame
    cells = spread(
        frame,
        _tested(frame, names),
        frame["epsilon"].map("{:g}".format),
        lambda row: _rate(row["winning_rate"]) or "no test",
    )
    note = "Winning rate with each epsilon; a model passes from 0.5."
    return styled_table(cells, groups="dimension", note=note)


def at_equal_steps(values: Sequence[float]) -> list[float]:
    """Some of many values at equal steps, ends included."""
    last = len(values) - 1
    return [float(values[round(k * last / (SHOWN_EPSILONS - 1))]) for k in range(SHOWN_EPSILONS)]


def _over_epsilon(result: Result, record: RecordedResult, report: ReportData) -> list[Exhibit]:
    """Winning rates over epsilon in numbers, where the test of each person is known."""
    if not parts(result):
        return []
    table = Laid(
        [curve_table(result, report.names)], f"{ended(plain(record.title))} Over epsilon.", "epsilon"
    )
    return [Exhibit("{table gives} the winning rate with each epsilon.", tables=[table])]


@tables_of("alt_test", reading=passed_tests, headline=passed_tests, of_main=False, more=_over_epsilon)
def alt_test_tables(result: Result, names: ColumnNames) -> list[GT]:
    """Winning rates and advantage probabilities of every model."""
    frame = result.frame
    table = pd.DataFrame(
        {
            **_tested(frame, names),
            "Winning rate": frame["winning_rate"].map(_rate),
            "Advantage probability": [
                estimate_cell(row, "advantage_probability", "advantage_probability_", digits=DIGITS)
                for row in frame.to_dict("records")
            ],
            "Passes": [_passes(row) for row in frame.to_dict("records")],
            "Smallest epsilon (rounded up)": [_smallest(row) for row in frame.to_dict("records")],
            "People compared": frame["n_annotators"].map(whole),
        }
    )
    note = f"Epsilon is {result.settings['epsilon']:g}; a model passes with a winning rate of 0.5."
    return [styled_table(table, groups="dimension", note=note)]


def _rate(rate: float) -> str:
    """A winning rate that is not rounded to the rate with which a model passes."""
    return "" if pd.isna(rate) else rounded(rate, 2, PASSING)


def _passes(row: Row) -> str:
    """Whether a model passes, where it was tested."""
    return "no test" if pd.isna(row["winning_rate"]) else "yes" if row["passes"] else "no"


def _smallest(row: Row) -> str:
    """The smallest epsilon with which a model passes, rounded up, so that it passes with the number shown."""
    if pd.isna(row["winning_rate"]):
        return ""
    if pd.isna(row["smallest_epsilon"]):
        return "above 1"
    return true_minus(rounded_up(float(row["smallest_epsilon"]), 2, float(row["epsilon"])))


@tables_of("alt_power")
def alt_power(result: Result, names: ColumnNames) -> list[GT]:
    """Probability of passing over the number of items, for a panel and models of known agreement."""
    frame = result.frame.reset_index(drop=True)
    same = frame.groupby(["scenario", "epsilon", "model_agreement"], sort=False)
    behind = same["difference"].transform("mean")
    kinds = [scenario_name(row) for row in frame.to_dict("records")]
    table = spread(
        frame,
        {
            "Model": pd.Series(kinds, index=frame.index),
            "Epsilon": frame["epsilon"].map("{:g}".format),
            "Agreement with a person": frame["model_agreement"].map(lambda value: number(value, 2)),
            "Behind people by": behind.map(lambda value: number(value, 2)),
        },
        frame["instances"].map(whole) + " items",
        lambda row: estimate_cell(row, "pass_rate"),
    )
    note = (
        "Probability of passing, in brackets the intervals of the simulation. Behind people by: probability "
        "of a person to be at least as close to the others, less that of the model."
    )
    return [styled_table(table, n_left=1, note=note)]


def _among_people(result: Result, names: ColumnNames) -> str:
    """Krippendorff's alpha among people and of people with each model, of the first dimension."""
    frame = result.frame[result.frame["coefficient"].astype(str) == "krippendorff"].dropna(subset="estimate")
    among = frame[frame["against"].isna() & (frame["among"].astype(str) == HUMAN)]
    if among.empty:
        return ""
    # the last weights of a dimension are those that count the distance of ratings
    row = among[among["dimension"] == among["dimension"].iloc[0]].iloc[-1].to_dict()
    is_same = (frame["dimension"] == row["dimension"]) & (frame["weights"].astype(str) == str(row["weights"]))
    models = frame[is_same & frame["against"].notna() & (frame["among"].astype(str) == HUMAN)]
    weights = f" ({plain(row['weights'])} weights)" if row.get("weights") else ""
    about = plain(dimension_of(names, row["dimension"]))
    texts = [
        f"with {plain(names.of('judge', model['against']))} {estimate_cell(model, halves=False)}"
        for model in models.to_dict("records")
    ]
    of_people = f"; of people {', '.join(texts)}" if texts else ""
    among_people = estimate_cell(row, halves=False)
    text = f"Krippendorff's alpha{weights} for {about}: among people {among_people}{of_people}."
    return f"{text} Different levels of ratings lower it, too." if texts else text


@tables_of("agreement", headline=_among_people)
def agreement_tables(result: Result, names: ColumnNames) -> dict[str, GT]:
    """The coefficients that are reported most, those compared as columns; all others are in the folder."""
    frame = result.frame.copy()
    weights = frame["weights"].astype("string").fillna("")
    frame["_key"] = list(zip(frame["coefficient"].astype(str), weights, strict=True))
    frame = frame[frame["_key"].isin(SHOWN_COEFFICIENTS) & frame["estimate"].notna()]
    compared = compared_in_words(frame, names)
    named = [
        COEFFICIENTS[name] + (f", {WEIGHTS[weight]}" if weight else "") for name, weight in frame["_key"]
    ]
    table = spread(
        frame,
        {
            "dimension": frame["dimension"].map(partial(dimension_of, names)),
            "Coefficient": pd.Series(named, index=frame.index),
        },
        pd.Series(compared, index=frame.index),
        estimate_cell,
    )
    note = f"In brackets: {level_of(result.settings)} intervals. The folder contains all coefficients."
    note = with_gaps(note, table, "not defined for that comparison")
    parts = side_by_side(table, 2)
    return {name: styled_table(part, groups="dimension", note=note) for name, part in parts.items()}


@exhibit("both_answers", of="alt_test")
def both_answers(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """The replacement test and the rater model: two answers to one question."""
    tests = pd.concat([report.read(entry).frame for entry in report.of_kind("alt_test")], ignore_index=True)
    tests = tests.drop_duplicates(KEYS, keep="last")
    models = [posterior_answers(report.read(entry)) for entry in report.of_kind(*MODELS)]
    answers = combine_answers(tests, pd.concat(models, ignore_index=True)) if models else pd.DataFrame()
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
            answer = cells.loc[(*keys, name)] if (*keys, name) in cells.index else None
            row[HEADINGS[name]] = "" if answer is None else estimate_cell(answer)
        rows.append(row)
    epsilon = " and ".join(f"{value:g}" for value in dict.fromkeys(tests["epsilon"]))
    brackets = "In brackets: intervals of the bootstrap (test) and of the posterior (model)."
    notes = [NOTES[name] for name in quantities if name in NOTES]
    note = " ".join([f"Epsilon {epsilon}.", brackets, *notes])
    table = styled_table(pd.DataFrame(rows), groups="dimension", note=note)
    lead = (
        "{figure} and {table} compare the test with the Bayesian model. The test compares a model with each "
        "person against the other raters of an item, and requires significance against each; the Bayesian "
        "model compares it with people in general, against their consensus. A model can follow the consensus "
        "about as well as people on single items and still lose in every comparison of the test."
    )
    text = "The replacement test and the Bayesian model."
    figure = Drawn(Result(answers, "both_answers"), text)
    return Exhibit(lead, [figure], [Laid([table], text)], _compared_with_people(answers))


def posterior_answers(model: Result) -> pd.DataFrame:
    """Bayesian estimates for each model: ``dimension, model, quantity, estimate, lower, upper``."""
    dimension = str(model.settings.get("dimension") or "")
    if model.kind == "label_model":
        rows = model.extra.get("replacement", pd.DataFrame(columns=["model", "estimate", "lower", "upper"]))
        rows = rows.drop_duplicates("model").assign(quantity="accuracy_difference")
    else:
        rows = model.frame[model.frame["quantity"].isin(CHANCES)].rename(columns={"group": "model"})
    return rows.assign(dimension=dimension)[["dimension", "model", "quantity", "estimate", "lower", "upper"]]


def combine_answers(tests: pd.DataFrame, posterior: pd.DataFrame) -> pd.DataFrame:
    """Both answers for the models and dimensions that have both, in one long table."""
    parts = []
    for quantity in ("winning_rate", "advantage_probability"):
        bounds = {
            end: tests[f"{quantity}_{end}"] if f"{quantity}_{end}" in tests else float("nan")
            for end in ("lower", "upper")
        }
        parts.append(tests[KEYS].assign(quantity=quantity, estimate=tests[quantity], **bounds))
    shared = tests[KEYS].merge(posterior, on=["dimension", "model"])
    answers = pd.concat([*parts, shared], ignore_index=True)
    rows = answers.merge(shared[KEYS].drop_duplicates(), on=KEYS)
    return rows[[*KEYS, "quantity", "estimate", "lower", "upper"]]


def _compared_with_people(answers: pd.DataFrame) -> str:
    """State how many models the posterior puts ahead of a random person, behind, or neither."""
    half = {"closer_than_human": 0.5, "accuracy_difference": 0.0}
    part = answers[answers["quantity"].isin(half)].drop_duplicates(["dimension", "model"])
    if part.empty:
        return ""
    line = part["quantity"].map(half).astype(float)
    return ahead_in_words(count_models_ahead(part, line))
