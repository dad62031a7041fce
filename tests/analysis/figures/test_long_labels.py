"""Labels of sixty characters: every figure stays inside its page, without overlaps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from made_up_results import ATTRIBUTES, GROUPS, amce_frame, difference_frame, frequencies_frame
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text

from conjury.analysis.audit import compare_moderation
from conjury.analysis.conjoint import power
from conjury.analysis.figures import (
    coefficient_plot,
    frequencies_plot,
    interaction_plot,
    marginal_means_plot,
    proportions_plot,
    published_plot,
    target_plot,
    truth_plot,
)
from conjury.analysis.figures.conjoint.contrasts import contrast_plot, equivalence_plot, significance_plot
from conjury.analysis.figures.conjoint.detectable import detectable_plot
from conjury.analysis.figures.conjoint.error_choices import errors_plot
from conjury.analysis.figures.conjoint.power import power_plot
from conjury.analysis.figures.conjoint.reliability import reliability_plot
from conjury.analysis.figures.fitting import inches, legend_columns, wrap
from conjury.analysis.figures.registry import draw

Given = Mapping[str | tuple[str, str], str]
FILLER = "neighborhood with a mix of offices, apartments/houses and small shops"
HUMAN = amce_frame({"human": [""]})
EFFECTS = HUMAN[HUMAN["std_error"].notna()].reset_index(drop=True)
JUDGES = amce_frame()


def long(name: str) -> str:
    return f"{name.replace('_', ' ').capitalize()} {FILLER}"[:60].strip()


def long_labels() -> dict[str | tuple[str, str], str]:
    groups = {**ATTRIBUTES, **GROUPS}
    found: dict[str | tuple[str, str], str] = {feature: long(feature) for feature in groups}
    found |= {(feature, level): long(level) for feature, levels in groups.items() for level in levels}
    found |= {("by", group): long(group) for group in GROUPS["identity"]}
    return (
        found
        | {name: long(name) for name in ("human", "model_x", "text")}
        | {("judge", "human"): long("human")}
    )


def contrasts() -> pd.DataFrame:
    pairs = list(combinations(ATTRIBUTES["slur"], 2))
    frame = pd.DataFrame(pairs, columns=["reference", "level"])
    return frame.assign(feature="slur", estimate=np.linspace(-0.2, 0.3, len(frame)), p=0.04, p_adjusted=0.2)


def errors(n_choices: int) -> pd.DataFrame:
    names = [f"text {k}" for k in range(n_choices)]
    parts = [
        EFFECTS.assign(choice=name, clusters="text", method="CR1", ratio=1.0 + k / 9)
        for k, name in enumerate(names)
    ]
    return pd.concat(parts, ignore_index=True)


def equivalence() -> pd.DataFrame:
    bounds = {"equivalence_lower": EFFECTS["lower"], "equivalence_upper": EFFECTS["upper"]}
    return EFFECTS.assign(**bounds, bound_lower=-0.03, bound_upper=0.03, verdict="different")


def detectable() -> pd.DataFrame:
    return EFFECTS.assign(effect_design=0.02, effect_found=0.03)


def proportions() -> pd.DataFrame:
    cells = pd.MultiIndex.from_product(
        [ATTRIBUTES["slur"], ATTRIBUTES["identity"]], names=["slur", "identity"]
    )
    return cells.to_frame(index=False).assign(proportion=1 / len(cells))


def reliability(labels: Given, theme: str) -> Figure:
    frame = pd.DataFrame(
        {"judge": ["human", "model_x"], "prompt": "", "sides": "swapped", "agreement": 0.885,
         "lower": 0.871, "upper": 0.898, "n_compared": 2300, "n_unanswered": 12}
    )  # fmt: skip
    position = pd.DataFrame(
        {
            "judge": ["human", "model_x"],
            "prompt": "",
            "same_profile": 0.885,
            "always_a": 0.06,
            "always_b": 0.055,
        }
    )
    return reliability_plot(frame, position, labels=labels, theme=theme)


def check(name: str, **columns: object) -> Callable[[Given, str], Figure]:
    table = HUMAN.dropna(subset=["std_error"]).assign(**columns)
    return lambda labels, theme: draw(name, table, labels=labels, theme=theme)


KINDS: dict[str, Callable[[Given, str], Figure]] = {
    "coefficients": lambda labels, theme: coefficient_plot(
        HUMAN, labels=labels, theme=theme, bounds="95% percentile bootstrap intervals"
    ),
    "judges": lambda labels, theme: coefficient_plot(JUDGES, labels=labels, theme=theme, title=long("title")),
    "marginal means": lambda labels, theme: marginal_means_plot(HUMAN, labels=labels, theme=theme),
    "truth": lambda labels, theme: truth_plot(EFFECTS.assign(true=0.0), labels=labels, theme=theme),
    "target": lambda labels, theme: target_plot(EFFECTS, EFFECTS, labels=labels, theme=theme),
    "frequencies": lambda labels, theme: frequencies_plot(
        frequencies_frame().query("judge == 'human'"), labels=labels, theme=theme
    ),
    "interactions": lambda labels, theme: interaction_plot(
        difference_frame(), feature="slur", by="identity", labels=labels, theme=theme, bounds="95% intervals"
    ),
    "long series": lambda labels, theme: coefficient_plot(
        JUDGES.assign(who=JUDGES["prompt"].map(lambda name: labels.get("human", "x") + name)),
        labels=labels, theme=theme, group="who",
    ),
    "contrasts": lambda labels, theme: contrast_plot(contrasts(), labels=labels, theme=theme),
    "contrasts by group": lambda labels, theme: contrast_plot(
        pd.concat([contrasts().assign(by=group) for group in GROUPS["identity"]]), labels=labels, theme=theme
    ),
    "significance": lambda labels, theme: significance_plot(
        JUDGES.assign(p_adjusted=JUDGES["p"]), labels=labels, theme=theme
    ),
    "equivalence": lambda labels, theme: equivalence_plot(equivalence(), labels=labels, theme=theme),
    "two errors": lambda labels, theme: errors_plot(errors(2), labels=labels, theme=theme),
    "eight errors": lambda labels, theme: errors_plot(errors(8), labels=labels, theme=theme),
    "detectable": lambda labels, theme: detectable_plot(detectable(), labels=labels, theme=theme),
    "proportions": lambda labels, theme: proportions_plot(proportions(), labels=labels, theme=theme),
    "published": lambda labels, theme: published_plot(compare_moderation(EFFECTS, HUMAN), labels=labels, theme=theme),
    "reliability": reliability,
    "power": lambda labels, theme: power_plot(
        power({"slur": 4, "identity": 3, "curse": 2}, pairs=30000, power=[0.8, 0.9]),
        labels=labels, theme=theme,
    ),
    "check of levels": check("position_balance"),
    "check of judges": check("position_share"),
    "check of respondents": check("respondent_balance"),
    "check of independence": lambda labels, theme: draw(
        "attribute_independence",
        pd.DataFrame(
            [("human", "", one, other, 1.0, 0.9, 1.1) for one, other in combinations(ATTRIBUTES, 2)],
            columns=["judge", "prompt", "feature", "partner", "estimate", "lower", "upper"],
        ),
        labels=labels, theme=theme,
    ),
    "check of carry-over": check("carry_over", test="same level as in the task before"),
    "check of clusters": check("clusters", unit="text"),
}  # fmt: skip


@cache
def drawn(kind: str, *, is_long: bool = True) -> Figure:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = KINDS[kind](long_labels() if is_long else {}, "light")
        figure.draw_without_rendering()
    return figure


def ticks(axis: Axis) -> list[Text]:
    """Tick labels that are drawn: matplotlib keeps others beyond the limits."""
    low, high = sorted(axis.get_view_interval())
    inside = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [label for label in inside if label.get_visible() and label.get_text()]


def tick_labels(figure: Figure) -> list[Text]:
    return [label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in ticks(axis)]


def heading_of(axes: Axes) -> Text:
    return next(text for text in axes.findobj(Text) if text.get_text() == axes.get_title(loc="left"))


def written(figure: Figure) -> list[Text]:
    """Everything written around the axes: tick labels, headings, names of axes, legends."""
    around = [text for axes in figure.axes for text in (axes.xaxis.label, axes.yaxis.label, heading_of(axes))]
    legends = [text for legend in figure.legends for text in [*legend.get_texts(), legend.get_title()]]
    return [
        text
        for text in [*figure.texts, *legends, *around, *tick_labels(figure)]
        if text.get_visible() and text.get_text()
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_overlaps_or_leaves_the_figure_with_long_labels(kind: str) -> None:
    figure = drawn(kind)
    boxes = [
        (label.get_text(), label.get_window_extent().padded(-0.5))
        for label in tick_labels(figure)
        if label.get_rotation() in (0, 90)
    ]
    clashes = [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)]
    assert clashes == []
    page = figure.bbox.padded(1)
    for text in written(figure):
        box = text.get_window_extent()
        inside = page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1
        assert inside, text.get_text()


@pytest.mark.parametrize("kind", KINDS)
def test_axes_keep_room_beside_long_labels(kind: str) -> None:
    figure = drawn(kind)
    for axes in figure.axes:
        box = axes.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        assert box.width > 0.9
        assert box.height > 0.15


def test_headings_of_panels_stay_apart_from_tick_labels() -> None:
    for kind in ("coefficients", "equivalence", "eight errors", "frequencies"):
        figure = drawn(kind)
        titles = [heading_of(axes) for axes in figure.axes]
        labels = [label.get_window_extent().padded(-0.5) for label in tick_labels(figure)]
        for title in titles:
            assert not any(title.get_window_extent().overlaps(label) for label in labels), title.get_text()


def test_every_word_of_a_long_label_is_kept() -> None:
    text = "City \u2013 downtown, with offices/apartments and shops (n = 1,047)"
    broken = wrap(text, 1.6)
    assert "".join(broken.split()) == "".join(text.split())
    assert "(n = 1,047)" in broken
    assert max(map(inches, broken.split("\n"))) <= 1.6


@pytest.mark.parametrize("text", ["w" * 60, "word " * 12, "one/two/three/four/five/six/seven/eight/nine", ""])
@pytest.mark.parametrize("width", [0.8, 2.6])
def test_lines_fit_their_width(text: str, width: float) -> None:
    broken = wrap(text, width)
    assert inches(broken) <= width
    assert broken.replace("\n", "").replace(" ", "") == text.replace(" ", "")


def test_labels_that_fit_are_left_alone() -> None:
    for kind in ("coefficients", "judges", "interactions", "detectable"):
        assert not any("\n" in label.get_text() for label in tick_labels(drawn(kind, is_long=False)))


def test_legends_have_fewer_columns_where_names_are_long() -> None:
    assert legend_columns(["human", "model"], 7.2, 4) == 2
    assert legend_columns(["a name that is rather long"] * 6, 7.2, 4) == 3
    assert legend_columns(["a name that is rather long " * 3] * 6, 7.2, 4) == 1
