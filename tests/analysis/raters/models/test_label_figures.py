"""Figures of the models of labels and choices: what they show, in both themes, with long labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.figures import alt as alt_of
from conjury.analysis.raters import Result

LONG = "cannot be decided from this text alone"


def _confusion(groups: list[str], classes: list[str]) -> Result:
    cells = pd.DataFrame(
        [(g, t, w) for g in groups for t in classes for w in classes], columns=["group", "truth", "label"]
    )
    right = cells["truth"] == cells["label"]
    estimate = np.where(right, 0.8, 0.2 / (len(classes) - 1))
    cells = cells.assign(estimate=estimate, lower=estimate - 0.02, upper=estimate + 0.02)
    return Result(pd.DataFrame(), "label_model", extra={"confusion": cells})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_matrices_of_all_groups_hold_their_numbers_and_fit_the_figure(theme: str) -> None:
    result = _confusion(["human", "gpt_4_1", "a_model_with_quite_a_long_name"], ["safe", "implicit", LONG])
    figure = result.plot(theme=theme, title="Who takes what for what")
    figure.draw_without_rendering()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left").replace("\n", " ") for axes in shown] == [
        "People",
        "Gpt 4 1",
        "A model with quite a long name",
    ]
    for axes in shown:
        numbers = [text.get_text() for text in axes.texts]
        assert numbers.count(".80") == 3
        assert numbers.count(".10") == 6
    width, height = figure.get_size_inches() * figure.dpi
    for axes in shown:
        for text in [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels(), axes.title]:
            box = text.get_window_extent()
            assert box.x0 >= -1
            assert box.x1 <= width + 1
            assert box.y0 >= -1
            assert box.y1 <= height + 1


def test_two_classes_show_intervals_and_ten_fit_the_page() -> None:
    texts = [text.get_text() for text in _confusion(["human"], ["no", "yes"]).plot().axes[0].texts]
    assert ".78–.82" in texts  # noqa: RUF001
    figure = _confusion(["human", "gpt"], list("abcdefghij")).plot()
    assert figure.get_size_inches()[0] <= 7.3
    assert alt_of(_confusion(["human"], ["no", "yes"])).endswith("People: No 80%, Yes 80%.")


def test_bars_of_certainty_add_up_to_all_items() -> None:
    rng = np.random.default_rng(1)
    items = pd.DataFrame(
        {
            "item_id": np.arange(200),
            "label": rng.choice(["no", "yes"], 200),
            "probability": rng.uniform(0.5, 1.0, 200),
            "most_probable": True,
        }
    )
    result = Result(pd.DataFrame(), "label_certainty", extra={"items": items})
    (axes,) = result.plot(theme="dark").axes
    assert sum(bar.get_height() for bar in axes.patches) == 200
    sure = int((items["probability"] > 0.95).sum())
    assert f"{sure} of 200 items" in alt_of(result)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_part_worths_stand_beside_single_raters(theme: str) -> None:
    levels = ["loud", LONG]
    frame = pd.DataFrame(
        {"quantity": "part-worth", "feature": "tone", "level": levels, "estimate": [0.5, -1.0]}
    )
    frame = frame.assign(lower=frame["estimate"] - 0.2, upper=frame["estimate"] + 0.2)
    spread = frame.assign(quantity="SD between raters", estimate=[0.4, 0.9])
    raters = pd.concat(
        [frame.assign(judge=str(k), estimate=frame["estimate"] + k / 10) for k in range(-5, 6)],
        ignore_index=True,
    )
    both = pd.concat([frame, spread], ignore_index=True)
    result = Result(both, "choice_model", extra={"raters": raters})
    (axes,) = result.plot(theme=theme, labels={"tone": "Tone of voice"}).axes
    names = [text.get_text().replace("\n", " ") for text in axes.get_yticklabels()]
    assert names == ["Tone of voice: Loud", "Tone of voice: Cannot be decided from this text alone"]
    assert len(axes.collections[0].get_offsets()) == 22
    assert "Raters differ most in Tone: Cannot be decided" in alt_of(result)
    (alone,) = Result(frame, "choice_model").plot().axes
    np.testing.assert_array_equal(alone.lines[0].get_xydata(), [[0.5, 0], [-1.0, 1]])
    assert len(alone.collections) == 1  # the intervals, and no cloud
