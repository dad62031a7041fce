"""Exhibits of the Bayesian models of raters, dimensions and labels, with priors and checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ....figures.labels import OF_RATERS, ColumnNames, words
from ....figures.note_labels import note_text
from ....figures.raters.rater_model_figures import (
    category_names,
    is_outside_interval,
    panel_names,
    predicted_shares,
)
from ....frames.notes import read_note
from ....frames.sentences import capitalised
from ....results import Result
from ...method_sentences import code, plain
from ...report_data import ReportData
from ...sentences.rater_sentences import count_predicted_shares, predicted_in_words
from ...table_format import (
    Row,
    dimension_of,
    estimate_cell,
    interval,
    number,
    side_by_side,
    spread,
    styled_table,
    with_probability,
)
from ..exhibit_registry import Drawn, Exhibit, Laid, ended, level
from ..template import tables_of

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

INTERVALS = "Posterior means with equal-tailed intervals."
LABEL_NOTE = (
    "Accuracy: probability of the right label for a random item; of people, that of a new person. "
    f"{INTERVALS}"
)
AT_END = "\N{DAGGER}"
NOT_IDENTIFIED = (
    f" {AT_END} Not identified: nearly all ratings are the same extreme one. Use the correlation of ratings."
)


CHECK = "check"


def verdict_box(result: Result, names: ColumnNames) -> str:
    """Whether the draws of a model can be used, in a box: a warning where a check failed."""
    sentences = [note_text(read_note(entry), names.labels) for entry in result.settings.get("verdict") or []]
    text = " ".join(sentences)
    if not text:
        return ""
    options = iter(re.findall("`([^`]+)`", text))  # set as code, as they are typed
    plain_text = plain(re.sub("`[^`]+`", "\0", text))
    plain_text = re.sub("\0", lambda _: code(next(options)), plain_text)
    box = 'note title="Can these draws be used?"'
    if not result.settings.get("passed", True):
        box = 'warning title="Some checks of this model failed"'
    return f"::: {{.callout-{box}}}\n{plain_text}\n:::"


def _priors_and_check(result: Result, record: RecordedResult, report: ReportData) -> list[Exhibit]:
    """The priors of a model, and its predictions compared with the data."""
    title = ended(plain(record.title))
    return [assumptions(result, title), predictive_check(result, title, report.names)]


def assumptions(result: Result, title: str) -> Exhibit:
    """The priors of a model; empty where the result has none."""
    priors = result.extra.get("priors")
    if priors is None or priors.empty:
        return Exhibit()
    table = Laid([prior_table(result)], f"{title} Priors.", "priors")
    return Exhibit("{table lists} the prior distributions.", tables=[table])


def predictive_check(result: Result, title: str, names: ColumnNames) -> Exhibit:
    """Predictions of the model compared with the data; empty where the result has no check."""
    shares = predicted_shares(result)
    if shares.empty:
        return Exhibit()
    text = f"{title} Observed and replicated shares."
    return Exhibit(
        "{figure}, with {table}, checks whether the model could have generated these data.",
        [Drawn(result, text, CHECK, CHECK)],
        [Laid(shares_tables(result, shares, names), text, CHECK)],
        shares_text(shares, float(result.settings.get("alpha", 0.05))),
    )


def shares_text(shares: pd.DataFrame, alpha: float) -> str:
    """How many observed shares are inside what the model predicts."""
    prior = shares.dropna(subset=["prior_lower", "prior_upper"])
    return predicted_in_words(
        count_predicted_shares(
            shares, is_outside_interval(shares), is_outside_interval(prior, "prior_"), alpha
        )
    )


def prior_table(result: Result) -> GT:
    """The priors: what each is of, its distribution with its numbers, and its name for changing it."""
    priors = result.extra["priors"]
    changed = result.settings.get("priors_changed") or {}
    table = pd.DataFrame(
        {
            "Of what": priors["meaning"].map(capitalised),
            "Distribution": [
                f"{_distribution(text)} (changed)" if name in changed else _distribution(text)
                for name, text in zip(priors["prior"], priors["distribution"], strict=True)
            ],
            "Name": priors["prior"].astype(str),
        }
    )
    return styled_table(table, n_left=3)


def shares_tables(result: Result, shares: pd.DataFrame, names: ColumnNames) -> list[GT]:
    """Observed shares with their predictive intervals; several dimensions side by side by group."""
    # Of several dimensions, what the priors alone make is a table of its own, where there is such a check.
    limits = f"{level(result)} interval"
    if shares["dimension"].nunique() < 2:
        return [_shares_of_one_dimension(result, shares, names, limits)]
    of_data = {"": "data that the fitted model predicts", "prior_": "data predicted by the priors alone"}
    return [
        _shares_of_dimensions(result, shares, names, prefix, f"and the {limits} of {data}")
        for prefix, data in of_data.items()
        if not prefix or shares[f"{prefix}lower"].notna().any()
    ]


def _shares_of_dimensions(
    result: Result, shares: pd.DataFrame, names: ColumnNames, prefix: str, of: str
) -> GT:
    """Observed shares of several dimensions, a column a group, with intervals of one kind of check."""
    category = category_names(shares["category"], result, names)
    table = spread(
        shares,
        {
            "dimension": shares["dimension"].map(partial(dimension_of, names)),
            "Rating": pd.Series(category, index=shares.index),
        },
        shares["group"].map(partial(names.of, "judge")),
        lambda row: estimate_cell(row, "observed", prefix),
    )
    return styled_table(table, groups="dimension", note=f"Observed share, {of}.")


def _shares_of_one_dimension(result: Result, shares: pd.DataFrame, names: ColumnNames, limits: str) -> GT:
    rows = shares.to_dict("records")
    table = pd.DataFrame(
        {
            "group": panel_names(shares, names),
            "Rating": category_names(shares["category"], result, names),
            "Observed": shares["observed"].map(number),
            "Posterior predictive": [interval(row["lower"], row["upper"]) for row in rows],
            "Prior predictive": [interval(row["prior_lower"], row["prior_upper"]) for row in rows],
        }
    )
    if result.kind == "label_model":
        table = table.rename(columns={"Rating": "Label"})
    if not table["Prior predictive"].any():
        table = table.drop(columns="Prior predictive")
    note = (
        f"Posterior predictive: {limits} of data that the fitted model predicts; prior predictive: of data "
        "made from the priors alone."
    )
    if "Prior predictive" not in table:
        note = f"Posterior predictive: {limits} of data that the fitted model predicts."
    return styled_table(table, groups="group", note=note)


def _distribution(text: object) -> str:
    """A distribution as a cell: with a capital, and true minus signs."""
    return re.sub(r"-(?=[\d.])", "\N{MINUS SIGN}", capitalised(text))


@tables_of("rater_model", reading=verdict_box, more=_priors_and_check)
def rater_model_tables(result: Result, names: ColumnNames) -> dict[str, GT]:
    """Estimates of each group, and the bias of each model towards levels of covariates."""
    ends = set(result.settings.get("at_the_end") or ())
    frame = _with_observed(result.frame)
    if ends:  # what is identified comes first
        frame = frame.iloc[(frame["quantity"] != "correlation").argsort(kind="stable")]

    def cell(row: Row) -> str:
        marked = row["group"] in ends and str(row["quantity"]).startswith("latent_correlation")
        return estimate_cell(row) + AT_END * marked

    estimates = spread(
        frame,
        {"Quantity": frame["quantity"].astype(str).map(lambda name: OF_RATERS.get(name, words(name)))},
        frame["group"].map(partial(names.of, "judge")),
        cell,
    )
    note = "Posterior means with equal-tailed intervals; SD: standard deviation."
    note += NOT_IDENTIFIED if ends else ""
    tables = {name: styled_table(part, note=note) for name, part in side_by_side(estimates, 1).items()}
    if "bias" in result.extra:
        bias = result.extra["bias"]
        points = bias[bias["quantity"] == "bias_points"]
        level = [names.of(c, v) for c, v in zip(points["covariate"], points["level"], strict=True)]
        rows = {"Level": pd.Series(level, index=points.index)}
        table = spread(points, rows, points["group"].map(partial(names.of, "judge")), estimate_cell)
        note = "Bias towards a level, net of the quality that people see: points of the scale."
        tables["bias of models"] = styled_table(table, note=note)
    return tables


def _with_observed(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows, and after each probability of the same rating the share in the data."""
    if "observed" not in frame or frame["observed"].isna().all():
        return frame
    observed_rows = frame[frame["observed"].notna()].assign(
        quantity="The same: observed share of equal ratings",
        estimate=lambda rows: rows["observed"],
        lower=float("nan"),
        upper=float("nan"),
    )
    return pd.concat([frame, observed_rows]).sort_index(kind="stable")


@tables_of("dimension_model", reading=verdict_box, more=_priors_and_check)
def dimension_model_tables(result: Result, names: ColumnNames) -> list[GT]:
    """Latent correlations with the main dimension, and how probably each is the strongest."""
    strongest = result.extra["strongest"]
    total = strongest[(strongest["level"] == "total") & strongest["probability"].notna()]
    tables = []
    for main, part in total.groupby("main", sort=False):
        table = spread(
            part,
            {"Dimension": part["dimension"].map(partial(dimension_of, names))},
            part["group"].map(partial(names.of, "judge")),
            with_probability,
        )
        note = (
            f"Latent correlation with {dimension_of(names, main)} in single ratings; P: posterior "
            "probability of being the strongest."
        )
        tables.append(styled_table(table, note=note))
    return tables


@tables_of("label_model", reading=verdict_box, more=_priors_and_check)
def label_model_tables(result: Result, names: ColumnNames) -> dict[str, GT]:
    """Accuracy and agreement with a person, prevalence of the labels, and each model against a person."""
    # Results of before name them "fresh".
    frame = result.frame.assign(quantity=result.frame["quantity"].astype(str).str.replace("fresh ", "new "))
    panels = frame.loc[frame["quantity"] == "accuracy of a new person", "group"].tolist()
    person = {
        panel: "a person" if len(panels) < 2 else f"a person of {names.of('judge', panel)}"
        for panel in panels
    }
    models = frame[(frame["quantity"] == "accuracy") & ~frame["group"].isin(panels)]
    parts = [
        frame[frame["quantity"] == "accuracy of a new person"].assign(row="Accuracy"),
        models.assign(row="Accuracy", group=models["judge"]),
    ]
    for quantity in ("agreement of two new people", "agreement with a new person"):
        part = frame[frame["quantity"] == quantity]
        row = "Agreement with " + part["group"].map(person)
        parts.append(part.assign(row=row, group=part["judge"].where(part["judge"] != "", part["group"])))
    rows = pd.concat(parts, ignore_index=True)
    estimates = spread(
        rows, {"Quantity": rows["row"]}, rows["group"].map(partial(names.of, "judge")), estimate_cell
    )
    blocks = side_by_side(estimates, 1)
    whose = {name: f", {name}" * (len(blocks) > 1) for name in blocks}
    tables = {
        f"accuracy and agreement{whose[name]}": styled_table(part, note=LABEL_NOTE)
        for name, part in blocks.items()
    }
    shares = frame[frame["quantity"] == "prevalence"]
    table = pd.DataFrame(
        {
            "Label": shares["label"].map(partial(names.of, "label")),
            "Share of items": [estimate_cell(row) for row in shares.to_dict("records")],
        }
    )
    tables["shares of the labels"] = styled_table(table, note=INTERVALS)
    if "replacement" in result.extra:
        tables["models less people"] = _replacement_table(result.extra["replacement"], person, names)
    return tables


def _replacement_table(frame: pd.DataFrame, person: Mapping[str, str], names: ColumnNames) -> GT:
    """Accuracy of each model less that of a person of each panel, and how probably it is the greater."""
    table = spread(
        frame,
        {"Model": frame["model"].map(partial(names.of, "judge"))},
        "Accuracy less that of " + frame["group"].map(person),
        lambda row: with_probability(row, "probability_better"),
    )
    note = f"{INTERVALS} P: posterior probability that the model is the more accurate annotator."
    return styled_table(table, note=note)
