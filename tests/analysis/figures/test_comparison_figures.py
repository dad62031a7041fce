"""Figures of contrasts, adjusted p values, equivalence tests and target distributions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from conjury.analysis.conjoint import (
    adjust,
    amce,
    cj,
    contrast,
    equivalence,
    interaction,
    mm,
    pamce,
    pmm,
    wald,
)
from conjury.analysis.figures import interaction_plot, save, target_alt, target_plot
from conjury.analysis.figures.conjoint.contrasts import (
    contrast_alt,
    contrast_plot,
    equivalence_alt,
    equivalence_plot,
    significance_alt,
    significance_plot,
)
from conjury.analysis.figures.theme import DARK
from conjury.inference.errors import InputError

FORMULA = "y ~ tone + topic"
TARGET = {"topic": {"work": 0.8, "sport": 0.2}}


def posts(seed: int = 1, n: int = 300) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    tone = pd.Categorical(random.choice(["calm", "sharp", "rude"], n), ["calm", "sharp", "rude"])
    topic = pd.Categorical(random.choice(["work", "sport"], n), ["work", "sport"])
    return pd.DataFrame(
        {
            "tone": tone,
            "topic": topic,
            "judge": random.choice(["m1", "m2"], n),
            "id": random.integers(0, 60, n),
            "y": 0.6 * (tone == "rude") + random.normal(size=n),
        }
    )


DATA = posts()
FIT = amce(DATA, FORMULA, id="id")
GROUPS = cj(DATA, FORMULA, id="id", by="judge")


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def ticks(figure: Figure) -> list[list[str]]:
    return [[label.get_text() for label in axes.get_yticklabels()] for axes in figure.axes]


def filled(figure: Figure) -> int:
    """Dots whose face is not the background."""
    faces = [dot.get_facecolor() for axes in figure.axes for dot in axes.collections if dot.get_sizes().size]
    return sum(not np.allclose(face[0][:3], 1) for face in faces if len(face))


def test_a_matrix_shows_every_pair_once_with_its_estimate() -> None:
    found = contrast(FIT, "tone")
    figure = contrast_plot(found.frame)
    assert len(texts(figure)) == 3
    assert ticks(figure) == [["Sharp", "Rude"]]
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["Calm", "Sharp"]
    assert f"{found.frame['estimate'].iloc[1]:+.3f}" in texts(figure)
    assert contrast_alt(found.frame).startswith("Matrix of 3 contrasts of tone, from ")


def test_dots_are_filled_where_the_adjusted_test_rejects() -> None:
    found = contrast(FIT, "tone").frame.assign(p=[0.01, 0.01, 0.5])
    assert filled(contrast_plot(found)) == 2
    assert filled(contrast_plot(found.assign(p_adjusted=[0.01, 0.2, 0.9]))) == 2  # one full, one with a core
    assert filled(contrast_plot(found.assign(p_adjusted=[0.2, 0.2, 0.9]), alpha=0.001)) == 0


def test_each_group_has_a_matrix() -> None:
    figure = contrast_plot(contrast(GROUPS, "tone").frame)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["M1", "M2"]


def test_adjusted_effects_stand_by_judge() -> None:
    found = adjust(GROUPS, "holm").frame
    figure = significance_plot(found)
    assert ticks(figure) == [["Sharp", "Rude"], ["Sport"]]
    assert len(texts(figure)) == 6
    words = significance_alt(found)
    assert words.startswith("Grid of 6 effects: ")
    assert f"{int((found['p_adjusted'] < 0.05).sum())} of them after adjustment" in words


def test_the_band_and_every_interval_of_an_equivalence_test_are_drawn() -> None:
    found = equivalence(FIT, 0.2).frame
    figure = equivalence_plot(found)
    assert ticks(figure) == [["Sharp", "Rude"], ["Sport"]]
    tested = found.dropna(subset="p")
    lines = [line for axes in figure.axes for lines in axes.collections for line in lines.get_segments()]
    drawn = sorted(float(line[0][0]) for line in lines)
    np.testing.assert_allclose(drawn, np.sort(tested["equivalence_lower"]))
    for axes in figure.axes:
        (band,) = axes.patches
        assert band.get_x() == pytest.approx(-0.2)  # type: ignore[attr-defined]
        assert band.get_width() == pytest.approx(0.4)  # type: ignore[attr-defined]
    assert equivalence_alt(found).startswith("Dot plot of 3 estimates")


def test_both_distributions_stand_side_by_side() -> None:
    target = pamce(DATA, FORMULA, TARGET, id="id", opponent=False)
    figure = target_plot(target.frame, FIT.frame)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["Target", "Design"]
    assert "2 series: Target, Design" in target_alt(target.frame, FIT.frame)
    means = pmm(DATA, FORMULA, TARGET, id="id", opponent=False)
    drawn = target_plot(means.frame, mm(DATA, FORMULA, id="id").frame)
    assert str(drawn.get_supxlabel()) == "Marginal mean"


def test_results_choose_their_figure() -> None:
    assert len(contrast(FIT, "tone").plot().axes) == 1
    assert len(contrast(GROUPS, "tone", "rude", group=("m2", "m1")).plot().axes) == 1
    assert len(equivalence(FIT, 0.2).plot().axes) == 2
    assert len(pamce(DATA, FORMULA, TARGET, id="id", opponent=False).plot().axes) == 2
    assert len(pmm(DATA, FORMULA, TARGET, id="id", opponent=False).plot().axes) == 2
    assert len(interaction(DATA, FORMULA, "tone", "topic", id="id", kind="amie").plot().axes) == 1
    with pytest.raises(InputError, match="no figure"):
        wald(FIT).plot()


def test_interactions_without_baseline_are_called_so() -> None:
    free = interaction(DATA, FORMULA, "tone", "topic", id="id", kind="amie").frame
    figure = interaction_plot(free, feature="tone", by="topic")
    assert str(figure.get_supxlabel()) == "Interaction of tone and topic, beyond both effects"
    against = interaction(DATA, FORMULA, "tone", "topic", id="id").frame
    other = interaction_plot(against, feature="tone", by="topic")
    assert str(other.get_supxlabel()) == "Difference in the effect of tone"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_themes_colour_the_figures_and_files_are_the_same_twice(theme: str, tmp_path: Path) -> None:
    def draw() -> Figure:
        return contrast_plot(adjust(contrast(FIT, "tone"), "holm").frame, theme=theme, title="Tone")

    one, two = (save(draw(), tmp_path / name, formats=("svg",))[0] for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert (DARK.background in one.read_text()) == (theme == "dark")
    assert (DARK.color(0) in one.read_text()) == (theme == "dark")


def test_tables_that_lack_a_column_are_refused() -> None:
    with pytest.raises(InputError, match="'reference'"):
        contrast_plot(FIT.frame)
    with pytest.raises(InputError, match="'p_adjusted'"):
        significance_plot(FIT.frame)
    with pytest.raises(InputError, match="'equivalence_lower'"):
        equivalence_plot(FIT.frame)
    both = pd.concat([contrast(FIT, name).frame for name in ("tone", "topic")])
    with pytest.raises(InputError, match="one feature"):
        contrast_plot(both)
