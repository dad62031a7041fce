from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from made_up_results import ATTRIBUTES, amce_frame, difference_frame, engines_summary, frequencies_frame
from matplotlib import rcParams
from matplotlib.figure import Figure

from conjury.analysis.audit import compare_moderation
from conjury.analysis.figures import (
    coefficient_alt,
    coefficient_plot,
    engines_alt,
    engines_plot,
    frequencies_alt,
    frequencies_plot,
    interaction_alt,
    interaction_plot,
    marginal_means_plot,
    proportions_plot,
    published_alt,
    published_plot,
    save,
    save_variants,
    truth_alt,
    truth_plot,
)
from conjury.analysis.figures.labels import one_prompt, series_labels
from conjury.analysis.figures.theme import DARK, LIGHT, MARKERS, new_figure, styled
from conjury.inference.errors import InputError


def points_drawn(figure: Figure) -> list[float]:
    return sorted(
        round(float(x), 9)
        for axes in figure.axes
        for line in axes.lines
        if line.get_linestyle() == "None"
        for x in np.atleast_1d(line.get_xdata())
    )


def tick_labels(figure: Figure) -> list[str]:
    return [label.get_text() for axes in figure.axes for label in axes.get_yticklabels()]


def luminance(color: str) -> float:
    channels = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_estimate_and_one_mark_per_reference_level_are_drawn() -> None:
    frame = amce_frame({"human": [""], "model_x": ["baseline"]})
    estimates = frame.loc[frame["std_error"].notna(), "estimate"]
    expected = sorted([round(value, 9) for value in estimates] + [0.0] * len(ATTRIBUTES))
    assert points_drawn(coefficient_plot(frame)) == pytest.approx(expected)


def test_attributes_stand_in_panels_and_reference_levels_are_named() -> None:
    figure = coefficient_plot(
        amce_frame({"human": [""]}), labels={"slur": "Insult", ("slur", "none"): "Nothing"}
    )
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Insult", "Identity", "Curse"]
    assert "Generic (reference)" in tick_labels(figure)
    assert "Nothing" in tick_labels(figure)
    assert "Black male" in tick_labels(figure)


def test_panel_heights_follow_the_number_of_levels() -> None:
    figure = coefficient_plot(amce_frame({"human": [""]}))
    figure.draw_without_rendering()
    heights = [axes.get_position().height for axes in figure.axes]
    assert heights[0] > heights[1] > heights[2]


def test_bootstrap_intervals_are_drawn_when_asked_for() -> None:
    frame = amce_frame({"human": [""]})
    drawn = [
        round(float(segment[0][0]), 9)
        for axes in coefficient_plot(frame, interval="bootstrap").axes
        for collection in axes.collections
        for segment in collection.get_segments()
    ]
    assert sorted(drawn) == pytest.approx(sorted(round(x, 9) for x in frame["boot_lower"].dropna()))


def test_judges_side_by_side_differ_in_colour_and_marker_and_appear_in_the_legend() -> None:
    figure = coefficient_plot(amce_frame())
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["human", "model_x, baseline", "model_x, context"]
    handles = figure.legends[0].legend_handles
    assert len({(h.get_color(), h.get_marker()) for h in handles}) == 3  # type: ignore[union-attr]


def test_no_two_of_sixty_three_series_share_colour_and_marker() -> None:
    pairs = {(LIGHT.color(k), LIGHT.marker(k)) for k in range(len(MARKERS) * len(LIGHT.palette))}
    assert len(pairs) == len(MARKERS) * len(LIGHT.palette)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_colours_stand_out_from_the_background(theme) -> None:
    assert contrast(theme.foreground, theme.background) > 12
    assert contrast(theme.muted, theme.background) > 4.5
    assert min(contrast(color, theme.background) for color in theme.palette) > 2.8


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_labels_and_legend_stay_inside_the_figure_and_apart(theme: str) -> None:
    figure = coefficient_plot(amce_frame(), theme=theme, title="A heading")
    figure.draw_without_rendering()
    page = figure.bbox
    for axes in figure.axes:
        for label in axes.get_yticklabels():
            box = label.get_window_extent()
            assert box.x0 >= page.x0
            assert box.y1 <= page.y1
        shown = [t.get_window_extent() for t in axes.get_xticklabels() if t.get_text()]
        assert not any(one.overlaps(other) for one, other in pairwise(shown))
    below = figure.get_supxlabel()
    assert below == "Average marginal component effect"
    legend = figure.legends[0].get_window_extent()
    assert legend.y1 <= page.y1 + 1
    assert not any(axes.get_window_extent().overlaps(legend) for axes in figure.axes)


def test_drawing_leaves_the_global_settings_alone() -> None:
    before = dict(rcParams)
    coefficient_plot(amce_frame(), theme="dark")
    assert dict(rcParams) == before


def test_saved_figures_can_be_printed(tmp_path) -> None:
    from PIL import Image

    with styled(LIGHT):
        figure = new_figure(3.0, 2.0)
        figure.subplots().set_title("A title")
    png, pdf = save(figure, tmp_path / "figure", formats=("png", "pdf"))
    assert Image.open(png).size == (900, 600)
    assert b"/Type3" not in pdf.read_bytes()
    assert b"/CIDFontType2" in pdf.read_bytes()


def test_the_same_figure_gives_the_same_bytes(tmp_path) -> None:
    frame = amce_frame()
    for name in ("one", "two"):
        save(coefficient_plot(frame), tmp_path / name)
    for ending in ("png", "svg", "pdf"):
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_a_failed_save_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch) -> None:
    (tmp_path / "plot.svg").write_text("old")
    figure = coefficient_plot(amce_frame({"human": [""]}))
    monkeypatch.setattr(figure, "savefig", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(figure, tmp_path / "plot", formats=("svg",))
    assert [path.name for path in tmp_path.iterdir()] == ["plot.svg"]
    assert (tmp_path / "plot.svg").read_text() == "old"


def test_dollar_signs_in_labels_are_text_and_not_mathematics(tmp_path) -> None:
    figure = coefficient_plot(
        amce_frame({"human": [""]}), labels={("curse", "curse"): "costs $5 or $\\frac$"}
    )
    assert save(figure, tmp_path / "plot", formats=("svg",))[0].stat().st_size > 1000


def test_a_level_that_never_occurred_is_marked() -> None:
    frame = amce_frame({"human": [""]})
    frame.loc[frame["level"] == "sexism", ["estimate", "std_error", "lower", "upper"]] = np.nan
    texts = [text.get_text() for axes in coefficient_plot(frame).axes for text in axes.texts]
    assert texts == ["no estimate"]


def test_repeated_rows_ask_for_a_group() -> None:
    frame = pd.concat([amce_frame({"human": [""]})] * 2)
    with pytest.raises(InputError, match="more than once; name the column"):
        coefficient_plot(frame)


def test_every_figure_refuses_repeated_rows_in_the_same_words() -> None:
    ours = amce_frame({"model_x": ["baseline"]})
    printed = ours.dropna(subset=["std_error"])
    shares = pd.DataFrame({"a": ["x", "x"], "b": ["u", "u"], "proportion": [0.5, 0.5]})
    counts = frequencies_frame().query("judge == 'human'")
    for draw in (
        lambda: proportions_plot(shares),
        lambda: frequencies_plot(pd.concat([counts, counts])),
        lambda: published_plot(compare_moderation(printed, pd.concat([ours, ours]))),
    ):
        with pytest.raises(InputError, match=r"occurs more than once; (keep one row|name the column)"):
            draw()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="lower"), "column 'lower'"),
        (lambda frame: frame.head(0), "no rows"),
    ],
)
def test_a_table_that_cannot_be_drawn_says_why(change, message: str) -> None:
    with pytest.raises(InputError, match=message):
        coefficient_plot(change(amce_frame({"human": [""]})))


def test_an_unknown_theme_or_group_or_format_is_refused(tmp_path) -> None:
    frame = amce_frame({"human": [""]})
    with pytest.raises(InputError, match="no figure theme 'sepia'"):
        coefficient_plot(frame, theme="sepia")
    with pytest.raises(InputError, match="no column 'country'"):
        coefficient_plot(frame, group="country")
    with pytest.raises(InputError, match="saved as 'bmp'"):
        save(coefficient_plot(frame), tmp_path / "plot", formats=("bmp",))


def test_marginal_means_stand_around_one_half() -> None:
    frame = amce_frame({"human": [""]}).assign(statistic="mm", estimate=0.6, lower=0.55, upper=0.65)
    for axes in marginal_means_plot(frame).axes:
        left, right = axes.get_xlim()
        assert left < 0.5 < right
        assert any(list(line.get_xdata()) == [0.5, 0.5] for line in axes.lines)


def test_interactions_have_a_panel_per_slur_or_per_identity() -> None:
    frame = difference_frame()
    both = {"feature": "slur", "by": "identity"}
    by_slur = [axes.get_title(loc="left") for axes in interaction_plot(frame, **both).axes]
    by_author = [axes.get_title(loc="left") for axes in interaction_plot(frame, **both, panels="by").axes]
    assert by_slur == ["Sexism", "Racism", "None"]
    assert by_author == ["Black male", "White female"]
    assert "Black male, White female" in interaction_alt(frame, **both)


def test_differences_in_marginal_means_are_not_called_effects() -> None:
    frame = difference_frame().assign(statistic="mm_difference")
    figure = interaction_plot(frame, feature="slur", by="identity")
    assert figure.get_supxlabel() == "Difference in the marginal mean of slur"
    assert interaction_alt(frame, feature="slur", by="identity").startswith(
        "Differences in the marginal mean"
    )


def test_ours_minus_printed_is_the_difference_in_both_joins() -> None:
    ours = amce_frame({"model_x": ["baseline"]})
    printed = ours[ours["std_error"].notna()].assign(estimate=lambda frame: frame["estimate"] - 0.01)
    other = ours.assign(variant="as_published", estimate=ours["estimate"] - 0.01)
    both = compare_moderation(printed, pd.concat([ours, other], ignore_index=True))
    gaps = both.groupby("source")["difference"].agg(lambda values: np.abs(values).max())
    assert gaps.to_dict() == pytest.approx({"": 0.01, "as_published": 0.0, "printed": 0.0})
    told = published_alt(
        compare_moderation(printed.query("level == 'curse'"), ours), labels={("curse", "curse"): "Swearing"}
    )
    assert told.endswith("1.00 percentage points from print, at Curse: Swearing.")


def test_the_published_figure_shows_differences_in_percentage_points() -> None:
    ours = amce_frame({"model_x": ["baseline"]})
    printed = ours[ours["std_error"].notna()].assign(estimate=lambda frame: frame["estimate"] - 0.01)
    right = published_plot(compare_moderation(printed, ours)).axes[1]
    drawn = np.concatenate([line.get_xdata() for line in right.lines if line.get_linestyle() == "None"])
    assert drawn == pytest.approx(np.ones(len(printed)))


def test_published_judges_that_were_not_estimated_are_refused() -> None:
    ours = amce_frame({"model_x": ["baseline"]})
    with pytest.raises(InputError, match="share no judge and level"):
        compare_moderation(ours.assign(judge="someone_else"), ours)


def test_engines_stand_at_their_disagreement_and_missing_ones_are_named() -> None:
    summary = engines_summary()
    axes = engines_plot(summary).axes[0]
    drawn = [float(x) for line in axes.lines if line.get_linestyle() == "None" for x in line.get_xdata()]
    assert drawn == [3e-15, 4e-13]
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["native", "cregg"]
    assert axes.get_xlabel() == "Largest difference from the survey engine"
    assert "not available" in [text.get_text() for text in axes.texts]
    assert "the survey engine. native: estimates 3.0e-15" in engines_alt(summary)
    named = engines_plot(summary, yardstick="native").axes[0]
    assert [label.get_text() for label in named.get_yticklabels()] == ["survey", "cregg"]


def test_alt_text_names_the_extremes_found_in_the_data() -> None:
    frame = amce_frame({"human": [""]})
    told = [float(number) for number in re.findall(r"-?\d\.\d{3}", coefficient_alt(frame))]
    found = frame.loc[frame["std_error"].notna(), "estimate"]
    assert told == [round(found.min(), 3), round(found.max(), 3)]


def test_series_are_named_by_the_columns_that_tell_them_apart() -> None:
    frame = amce_frame({"human": [""], "model_x": ["baseline"]})
    assert set(series_labels(frame)) == {"human", "model_x"}


def test_one_prompt_per_judge_prefers_the_baseline() -> None:
    frame = amce_frame({"human": [""], "a": ["context", "baseline"], "b": ["context", "other"]})
    kept = one_prompt(frame).groupby("judge", sort=False)["prompt"].agg(set).to_dict()
    assert kept == {"human": {""}, "a": {"baseline"}, "b": {"context"}}


def test_the_dark_variant_is_what_drawing_in_the_dark_gives(tmp_path) -> None:
    frame = amce_frame()
    (drawn,) = save(coefficient_plot(frame, theme="dark"), tmp_path / "drawn", formats=("svg",))
    exchanged = save_variants(coefficient_plot(frame), tmp_path / "variants")["dark"]
    without_ids = [re.sub(r"m[0-9a-f]{10}", "", path.read_text()) for path in (drawn, exchanged)]
    assert without_ids[0] == without_ids[1]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_no_two_colours_of_a_theme_are_alike(theme) -> None:
    colors = [theme.background, theme.foreground, theme.muted, theme.grid, theme.band, *theme.palette]
    assert len(set(colors)) == len(colors)


def test_frequencies_are_shares_of_a_judge_around_the_equal_share() -> None:
    one = frequencies_frame().query("judge == 'human'")
    figure = frequencies_plot(one)
    expected = [
        100 * count / counts.sum()
        for _, counts in one.groupby("feature", observed=True)["estimate"]
        for count in counts
    ]
    assert points_drawn(figure) == pytest.approx(sorted(expected))
    lines = [line.get_xdata()[0] for axes in figure.axes for line in axes.lines if len(line.get_xdata()) == 2]
    assert set(np.round(lines, 6)) >= {25.0, round(100 / 3, 6), 50.0}
    assert "Generic (n = 100)" in tick_labels(figure)
    assert all(axes.get_xlim()[0] <= 0 for axes in figure.axes)
    assert "Generic (" not in " ".join(tick_labels(frequencies_plot(frequencies_frame())))
    assert "equal 25.0%" in frequencies_alt(one) or "equal 50.0%" in frequencies_alt(one)


def test_a_level_that_was_never_shown_stands_at_zero_and_is_no_reference() -> None:
    frame = pd.DataFrame({"feature": "tone", "level": ["rude", "kind"], "estimate": [5.0, 0.0]})
    figure = frequencies_plot(frame)
    assert points_drawn(figure) == [0.0, 100.0]
    assert tick_labels(figure) == ["Rude (n = 5)", "Kind (n = 0)"]


def test_combinations_that_never_occur_are_hatched() -> None:
    frame = pd.DataFrame(
        {"a": ["x", "y", "x", "y"], "b": ["u", "u", "v", "v"], "proportion": [0.5, 0.2, 0.3, 0]}
    )
    axes = proportions_plot(frame).axes[0]
    assert [patch.get_xy() for patch in axes.patches if patch.get_hatch()] == [(1, 1)]
    assert [text.get_text() for text in axes.texts] == ["50", "30", "20", "0"]


def test_errors_of_estimates_are_drawn_around_zero() -> None:
    frame = amce_frame({"human": [""]}).dropna(subset=["std_error"])
    frame = frame.assign(true=frame["estimate"] - 0.01)
    assert points_drawn(truth_plot(frame)) == pytest.approx([0.01] * len(frame))
    assert f"{len(frame)} of {len(frame)} intervals" in truth_alt(frame)
    with pytest.raises(InputError, match="column 'true'"):
        truth_plot(frame.drop(columns="true"))
