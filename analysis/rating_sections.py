"""Sections of reports on ratings: a sentence that reads the result, its figure, its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from .blocks import captioned, picture, slug, table_blocks, table_references
from .display import number, styled_table, whole
from .figures.raters import DRAWN, alt_of, figure_of
from .methods import plain
from .raters.result import RaterResult
from .rating_layouts import Words, any_table, lay_out

if TYPE_CHECKING:
    from .report_ratings import RatingsReport

SIMULATED = (
    "**These judgments are simulated**: they bear the names of people and models and say nothing about them."
)
FIGURE_ONLY = ("distributions", "rating_lines")

LEADS = {
    "coverage": "{table} counts who rated what.",
    "means": "{figure} shows mean ratings, and {table} the numbers.",
    "distributions": "{figure} shows how often people and models gave each rating.",
    "correlations": (
        "{figure} shows how closely each model follows the mean of people, and {table} the numbers. "
        "Intervals draw whole topics, since items of a topic are not independent."
    ),
    "rating_lines": (
        "{figure} sets each item's rating by a model against the mean of people; on the dashed line both "
        "agree."
    ),
    "dimension_correlations": (
        "{figure} shows which dimensions go together, people below the diagonal and a model above it; "
        "{table} ranks the correlates of the main dimension."
    ),
    "tier_accuracy": (
        "{figure} shows how often ratings put the tiers of a topic in order, and {table} the numbers; ties "
        "are counted, not hidden."
    ),
    "biases": (
        "{figure} shows how models differ from people as raters. Self-preference compares what a model rates "
        "its own and other models' items with items by people of equal human quality; what noise in the "
        "human means would feign is taken out. {table} has all numbers."
    ),
    "rater_model": (
        "{figure} shows what the model says of each group, and {table} the numbers. Quality is what people "
        "agree on; a correlation of 1 with it would mean that a judge's rating follows people's consensus "
        "without noise."
    ),
    "dimension_model": (
        "{figure} shows latent correlations between dimensions, free of the rating scale and of how often "
        "each rating is given; {table} ranks the correlates of the main dimension in single ratings, which "
        "is what can be compared between people and a model that was asked once."
    ),
    "label_model": (
        "{figure} shows how people and models confuse the labels, and {table} their accuracy, as far as "
        "labels alone can tell: true classes are those to which all judges together point."
    ),
    "agreement": "{figure} shows agreement coefficients, and {table} the numbers.",
    "alt_test": (
        "The alternative annotator test [@calderon2025] asks of each person whether a model comes as close "
        "to the others as they do. {figure} and {table} show the share of people against whom the model "
        "wins, and how often it comes at least as close."
    ),
}


def simulated(manifest: Mapping[str, Any]) -> str:
    """Say that judgments are simulated; empty where they are not."""
    return SIMULATED if manifest.get("simulated") else ""


def section(report: RatingsReport, name: str) -> str:
    """Show a result: what it says in words, its figure, its tables."""
    result, title = report.result(name), ended(plain(report.records[name]["title"]))
    labels = report.words
    figure = (
        picture(name, figure_of(result, labels=labels), alt_of(result, labels))
        if result.kind in DRAWN
        else ""
    )
    tables = [] if result.kind in FIGURE_ONLY else lay_out(result, name, labels)
    lead = LEADS.get(result.kind, "{figure} and {table} show the results.")
    if "{figure}" in lead and not figure:
        lead = "{table} has the numbers."
    told = lead.format(
        figure=f"@fig-{slug(name)}" if figure else "The figure",
        table=table_references(name, len(tables)) if tables else "the folder",
    )
    parts = [told, reading(result, Words(labels)), _verdict(report.records[name])]
    if figure:
        parts.append(captioned(f"fig-{slug(name)}", figure, title))
    if tables:
        parts.append(table_blocks(name, tables, title))
    return "\n\n".join(filter(None, parts))


def _verdict(made: Mapping[str, Any]) -> str:
    """Whether the draws of a model can be used, in a box."""
    said = made.get("verdict") or []
    if not said:
        return ""
    told = " ".join(map(plain, said))
    return f'::: {{.callout-note title="Can these draws be used?"}}\n{told}\n:::'


def ended(title: str) -> str:
    """Close a title with a full stop, unless it asks."""
    return title if title.endswith(("?", ".")) else f"{title}."


def reading(result: RaterResult, told: Words) -> str:
    """What a result says, in sentences made from its numbers; empty where nothing is to be said."""
    reader = READINGS.get(result.kind)
    return reader(result, told) if reader is not None else ""


def _read_main(result: RaterResult, told: Words) -> str:
    frame = result.extra["main"]
    said = []
    for group, part in frame.groupby("group", sort=False):
        if part["estimate"].isna().all():
            continue
        best = part.iloc[int(part["estimate"].argmax())]
        said.append(
            f"{plain(told.judge(group))}: {plain(told.dimension(best['other']))} "
            f"({number(best['estimate'], 2)}, strongest in {number(100 * best['probability'], 0)}% of draws)"
        )
    main = plain(told.dimension(result.settings.get("main", "")))
    return f"Strongest correlate of {main}: {'; '.join(said)}." if said else ""


def _read_alt_test(result: RaterResult, told: Words) -> str:
    frame = result.frame
    passed = frame[frame["passes"].fillna(False).astype(bool)]
    total = f"{whole(len(passed))} of {whole(len(frame))} tests are passed"
    if passed.empty or len(passed) > 8:
        return f"{total}."
    named = [
        plain(told.judge(row["model"]))
        + (f" ({plain(told.dimension(row['dimension']))})" if row["dimension"] else "")
        for row in passed.to_dict("records")
    ]
    return f"{total}: {', '.join(named)}."


def _read_tiers(result: RaterResult, told: Words) -> str:
    frame = result.frame
    order = frame[(frame["quantity"] == "complete_order") & (frame["ties"] == "split")]
    said = [
        f"{plain(told.judge(row['judge']))} {number(100 * row['estimate'], 1)}%"
        for row in order.to_dict("records")
    ]
    chance = order["chance"].mean() if len(order) else float("nan")
    return (
        f"Complete order, ties split: {', '.join(said)}; chance is {number(100 * chance, 1)}%."
        if said
        else ""
    )


READINGS: dict[str, Callable[[RaterResult, Words], str]] = {
    "dimension_correlations": _read_main,
    "alt_test": _read_alt_test,
    "tier_accuracy": _read_tiers,
}


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


def truth(report: RatingsReport) -> str:
    """Compare the models' estimates with the true values that a simulation knows."""
    if not report.manifest.get("simulated"):
        return "These judgments are not marked as simulated: no true values are known."
    if not report.has("recovery"):
        return (
            "The judgments are simulated; run `conjury raters` on these results to see its estimates beside "
            "the true values."
        )
    frame = report.table("recovery")
    inside = number(100 * float(frame["inside"].mean()), 0)
    tables = any_table(frame, Words(report.words), "recovery")
    return (
        f"{inside}% of {whole(len(frame))} intervals hold the true value (@tbl-recovery).\n\n"
        + table_blocks("recovery", tables, "Estimates beside true values.")
    )


def both_answers(report: RatingsReport) -> str:
    """The replacement test beside the rater model: two answers to one question."""
    tests = [report.result(name).frame for name in report.of_kind("alt_test")]
    models = [name for name in report.records if report.records[name]["kind"] == "rater_model"]
    if not tests or not models:
        return (
            "The replacement test and the Bayesian rater model answer the same question in two ways; these "
            "results hold one of them only, or none."
        )
    return _answers_table(report, pd.concat(tests), models)


def _answers_table(report: RatingsReport, tests: pd.DataFrame, models: list[str]) -> str:
    beside = pd.concat([_chances(report, name) for name in models], ignore_index=True)
    both = tests.merge(beside, on=["dimension", "model"], how="inner")
    if both.empty:
        return "The replacement test and the rater model are about different dimensions or models."
    told = Words(report.words)
    shown = pd.DataFrame(
        {
            "dimension": both["dimension"].map(told.dimension),
            "Model": both["model"].map(told.judge),
            "Winning rate": both["winning_rate"].map(lambda value: number(value, 2)),
            "Passes": both["passes"].map({True: "yes", False: "no"}),
            "Advantage probability": both["advantage_probability"].map(lambda value: number(value, 2)),
            "P(closer on an item)": both["closer_than_human"].map(lambda value: number(value, 2)),
            "P(closer over items)": both["better_than_human"].map(lambda value: number(value, 2)),
        }
    )
    note = (
        "P(closer on an item): posterior probability that the model lies closer to the consensus than a "
        "random person on a random item; over items: that it does so on average over all items."
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


def method(made: Mapping[str, Any]) -> str:
    """Tell in a sentence how a result was made, from its settings."""
    settings = made.get("settings") or {}
    said = []
    for key, text in (
        ("cluster", "clusters of items: `{}`"),
        ("unit", "resampled units: `{}`"),
        ("draws", "{} draws"),
        ("seed", "seed {}"),
        ("alpha", "alpha {}"),
        ("coefficient", "coefficient: {}"),
        ("epsilon", "epsilon {}"),
        ("q_fdr", "false discovery rate {}"),
        ("multiplicity", "adjustment: {}"),
        ("scoring", "scoring: {}"),
        ("link", "link: {}"),
        ("chains", "{} chains"),
        ("tune", "{} draws to adapt in"),
        ("sampler", "sampler {}"),
    ):
        value = settings.get(key)
        if value not in (None, "", []):
            said.append(
                text.format(f"{value:,}" if isinstance(value, int) and key == "draws" else plain(value))
            )
    return f"{', '.join(said).capitalize()}." if said else "No settings."
