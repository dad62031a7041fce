"""Sections of reports on ratings: a sentence that reads the result, its figure, its tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...figures.labels import LabelKey
from ...figures.raters import DRAWN, alt_of, figure_of, further_figures
from ...figures.raters.alt_test import SCORINGS
from ...figures.raters.naming import Names
from ...results import Result
from ..captions import METHODS, caption
from ..cells import dimension_of, in_words, intervals
from ..markdown import captioned, picture, slug, table_blocks, table_references
from ..methods import code, plain
from ..tables import number, whole
from .rater_predictions import CHECK, assumptions, predictive_check
from .rating_agreement import curve_table
from .rating_layouts import lay_out

if TYPE_CHECKING:
    from ..ratings_report import RatingsReport

SIMULATED = (
    "**These judgments are simulated**: they bear the names of people and models and say nothing about them."
)
FIGURE_ONLY = ("distributions", "rating_lines")
ADJUSTMENTS = {"by": "Benjamini-Yekutieli", "bh": "Benjamini-Hochberg", "holm": "Holm"}

LEADS = {
    "coverage": "{table} counts who rated what.",
    "means": "{figure} shows mean ratings, and {table} the numbers.",
    "distributions": "{figure} shows how often people and models gave each rating.",
    "correlations": (
        "{figure} shows how closely each model follows the mean of people, and {table} the numbers. "
        "Lines are {intervals}; stars mark correlations that differ from zero."
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
    "alt_power": (
        "{figure} and {table} ask what the test can tell with a panel like this one: how often a model "
        "passes that agrees with people as well as they agree with each other, one that knows what they "
        "agree on, and one that is behind people by just epsilon and should not pass."
    ),
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
        lead = "The numbers are in {table}."
    told = lead.format(
        intervals=intervals(result.settings) if "{intervals}" in lead else "",
        figure=f"@fig-{slug(name)}" if figure else "The figure",
        table=table_references(name, len(tables)) if tables else "the folder",
    )
    parts = [told, reading(result, Names(labels)), _verdict(report.records[name], labels)]
    if figure:
        parts.append(captioned(f"fig-{slug(name)}", figure, caption(title, result.kind, result.settings)))
    parts += _further(result, name, title, labels)
    if tables:
        parts.append(table_blocks(name, tables, title))
    parts += [assumptions(result, name, title), predictive_check(result, name, title, labels)]
    if result.kind == "alt_test":
        parts.append(curve_table(result, name, title, Names(labels)))
    return "\n\n".join(filter(None, parts))


FURTHER = {  # the sentence that leads to a further figure, and what its caption adds
    "radar": ("{figure} lays the same means out by dimension.", "By dimension."),
    "pairs": ("{figure} shows every pair of raters that share enough items.", "Every pair of raters."),
    "epsilon": (
        "{figure} asks the same with other values of epsilon, the advantage that people must have to be "
        "worth their cost: points mark the smallest with which a model passes.",
        "Over epsilon.",
    ),
    "judges": ("{figure} shows how severe and how discriminating each rater is.", "Rater by rater."),
    "certainty": ("{figure} shows how certain the true class of each item is.", "Certainty of items."),
}


def _further(result: Result, name: str, title: str, labels: Mapping[LabelKey, str]) -> list[str]:
    """Further figures of a result, each after the sentence that leads to it."""
    made = []
    for part in further_figures(result):
        if part == CHECK:  # shown with its table
            continue
        own = f"{name}_{part}"
        figure = figure_of(result, part=part, labels=labels)
        lead, what = FURTHER[part]
        made.append(lead.format(figure=f"@fig-{slug(own)}"))
        drawn = picture(own, figure, alt_of(result, labels, part))
        told = caption(f"{title} {what}", part, result.settings)
        made.append(captioned(f"fig-{slug(own)}", drawn, told))
    return made


def _verdict(made: Mapping[str, Any], labels: Mapping[LabelKey, str]) -> str:
    """Whether the draws of a model can be used, in a box: a warning where a check failed."""
    said = made.get("verdict") or []
    if not said:
        return ""
    text = " ".join(said)
    options = iter(re.findall("`([^`]+)`", text))  # set as code, as they are typed
    told = plain(in_words(re.sub("`[^`]+`", "\0", text), labels))
    told = re.sub("\0", lambda _: code(next(options)), told)
    box = 'note title="Can these draws be used?"'
    if not made.get("passed", True):
        box = 'warning title="Some checks of this model failed"'
    return f"::: {{.callout-{box}}}\n{told}\n:::"


def ended(title: str) -> str:
    """Close a title with a full stop, unless it asks."""
    return title if title.endswith(("?", ".")) else f"{title}."


def reading(result: Result, told: Names) -> str:
    """What a result says, in sentences made from its numbers; empty where nothing is to be said."""
    reader = READINGS.get(result.kind)
    return reader(result, told) if reader is not None else ""


def _read_main(result: Result, told: Names) -> str:
    frame = result.extra["main"]
    said = []
    for group, part in frame.groupby("group", sort=False):
        if part["estimate"].isna().all():
            continue
        best = part.iloc[int(part["estimate"].argmax())]
        said.append(
            f"{plain(told.of('judge', group))}: {plain(dimension_of(told, best['other']))} "
            f"({number(best['estimate'], 2)}, strongest in {number(100 * best['probability'], 0)}% of draws)"
        )
    main = plain(dimension_of(told, result.settings.get("main", "")))
    return f"Strongest correlate of {main}: {'; '.join(said)}." if said else ""


def _read_alt_test(result: Result, told: Names) -> str:
    frame = result.frame
    passed = frame[frame["passes"].fillna(False).astype(bool)]
    total = f"{whole(len(passed))} of {whole(len(frame))} tests are passed"
    if passed.empty or len(passed) > 8:
        return f"{total}."
    named = [
        plain(told.of("judge", row["model"]))
        + (f" ({plain(dimension_of(told, row['dimension']))})" if row["dimension"] else "")
        for row in passed.to_dict("records")
    ]
    return f"{total}: {', '.join(named)}."


def _read_tiers(result: Result, told: Names) -> str:
    frame = result.frame
    order = frame[(frame["quantity"] == "complete_order") & (frame["ties"] == "split")]
    said = [
        f"{plain(told.of('judge', row['judge']))} {number(100 * row['estimate'], 1)}%"
        for row in order.to_dict("records")
    ]
    chance = order["chance"].mean() if len(order) else float("nan")
    return (
        f"Complete order, ties split: {', '.join(said)}; chance is {number(100 * chance, 1)}%."
        if said
        else ""
    )


READINGS: dict[str, Callable[[Result, Names], str]] = {
    "dimension_correlations": _read_main,
    "alt_test": _read_alt_test,
    "tier_accuracy": _read_tiers,
}


def method(made: Mapping[str, Any]) -> str:
    """Tell how a result was made: the estimator, its intervals and tests, and then its settings."""
    settings = made.get("settings") or {}
    said = []
    for key, text in (
        ("cluster", "clusters of items: {}"),
        ("unit", "resampled units: {}"),
        ("draws", "{} draws"),
        ("seed", "seed {}"),
        ("alpha", "alpha {}"),
        ("coefficient", "coefficient: {}"),
        ("epsilon", "epsilon {}"),
        ("q_fdr", "false discovery rate {}"),
        ("multiplicity", "adjustment: {}"),
        ("scoring", "scoring: {}"),
        ("link", "link: {}"),
        ("scale", "scale: {}"),
        ("simulations", "{} studies simulated for each number"),
        ("chains", "{} chains"),
        ("tune", "{} draws to adapt in"),
        ("sampler", "sampler {}"),
    ):
        value = settings.get(key)
        if value not in (None, "", []):
            said.append(text.format(_told(key, value)))
    text = ", ".join(said)
    told = f"{text[0].upper()}{text[1:]}." if said else ""
    return " ".join(filter(None, [METHODS.get(str(made.get("kind")), ""), told]))


def _told(key: str, value: object) -> str:
    """A setting as text: columns as code, names in words, counts with commas."""
    if key in ("cluster", "unit"):
        return code(value)
    if key == "draws" and isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(f"{one:g}" if isinstance(one, float) else plain(one) for one in value)
    return plain(SCORINGS.get(str(value), ADJUSTMENTS.get(str(value), str(value))))
