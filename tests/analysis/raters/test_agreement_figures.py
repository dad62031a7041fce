"""Figures of agreement: who is compared in rows, dimensions in panels, pairs as a map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.figures import alt as alt_of
from conjury.analysis.figures import save
from conjury.analysis.figures.raters import agreement_pairs
from conjury.analysis.figures.raters.agreement import compared_in_words
from conjury.analysis.figures.raters.naming import Names
from conjury.analysis.raters import Result, agreement
from conjury.inference.errors import InputError


def result(people: int = 4, dimensions: int = 2, draws: int = 10) -> Result:
    rng = np.random.default_rng(3)
    rows = [
        (
            judge,
            "model" if judge.startswith("m") else "human",
            f"i{item}",
            f"trait_{k}",
            float(rng.integers(0, 4)),
        )
        for item in range(20)
        for judge in [*(f"p{k}" for k in range(people)), "m_one", "m_two"]
        for k in range(dimensions)
    ]
    names = ["judge_id", "judge_kind", "item_id", "dimension", "value"]
    asked = ["cohen", "krippendorff", "gwet"]
    return agreement(pd.DataFrame(rows, columns=names), asked, weights=["nominal", "ordinal"], draws=draws)


def test_panels_are_dimensions_and_rows_are_comparisons() -> None:
    figure = result().plot(labels={("judges", "m_one"): "Model one"}, title="Agreement")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Trait 0", "Trait 1"]
    rows = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert rows == [
        "People among themselves", "Models among themselves", "People with Model one", "People with M two"
    ]  # fmt: skip
    assert "bootstrap" in figure.get_supxlabel()
    assert "ordinal weights" in figure.get_supxlabel()


def test_without_draws_analytical_intervals_are_drawn() -> None:
    figure = result(draws=0).plot(coefficients=["gwet"], weights="nominal")
    assert figure.get_supxlabel() == "Gwet's AC, exact agreement (95% intervals)"


def test_thirty_raters_fit_on_a_map_of_one_dimension() -> None:
    axes, _ = agreement_pairs.draw(result(people=28, draws=0), theme="dark").axes
    assert axes.get_title(loc="left") == "Trait 0"
    assert len(axes.get_yticklabels()) == 30
    assert not axes.texts


def test_the_same_map_is_the_same_file(tmp_path: Path) -> None:
    made = result(dimensions=1, draws=0)
    files = [save(agreement_pairs.draw(made), tmp_path / name, ("svg",))[0] for name in ("one", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_few_raters_have_numbers_and_all_dimensions_and_gaps_are_explained() -> None:
    made = result()
    figure = agreement_pairs.draw(made)
    assert len([axes for axes in figure.axes if axes.get_title(loc="left")]) == 2
    assert len(figure.axes[0].texts) == 6 * 5
    assert not figure.get_supxlabel()
    assert "fewer than 10 shared items" in agreement_pairs.draw(_with_gap(made)).get_supxlabel()
    with pytest.raises(InputError, match="no pair of raters shares 50 items"):
        agreement_pairs.draw(made, least=50)


def _with_gap(made: Result) -> Result:
    pairs = made.extra["pairs"].copy()
    pairs.loc[pairs["judge"] == "p0", "n_items"] = 3
    return Result(pairs, "agreement_pairs")


def test_figures_are_described_in_words() -> None:
    made = result()
    assert alt_of(made).startswith(
        "Krippendorff's \N{GREEK SMALL LETTER ALPHA} (ordinal weights). Trait 0: People"
    )
    assert "of pairs of raters. Trait 0: from" in alt_of(Result(made.extra["pairs"], "agreement_pairs"))


def test_tables_read_back_from_text_are_drawn(tmp_path: Path) -> None:
    made = result(dimensions=1, draws=0)
    tables = [made.frame.assign(dimension=""), made.extra["pairs"].assign(dimension="")]
    for table, kind in zip(tables, ["agreement", "agreement_pairs"], strict=True):
        table.to_csv(tmp_path / "table.csv", index=False)
        figure = Result(pd.read_csv(tmp_path / "table.csv"), kind).plot()
        assert figure.axes[0].get_title(loc="left") == ""


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="no coefficient 'icc1'"):
        result().plot(coefficients=["icc1"])
    with pytest.raises(InputError, match="no table of pairs"):
        agreement_pairs.draw(Result(result().frame, "agreement"))


def test_people_compared_with_themselves_are_named() -> None:
    frame = pd.DataFrame({"among": ["human, again", "human", "gpt"], "against": None})
    assert compared_in_words(frame, Names(None)) == [
        "People, each with themselves",
        "People among themselves",
        "gpt, repeated",
    ]
