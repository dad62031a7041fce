"""Confidence sequences of effects: at every look the estimator's numbers, with limits that stay valid."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cases import refusals
from made_up.choices import forced_choices

from conjury.analysis.conjoint import amce, amce_diffs, mm, sequential
from conjury.analysis.frames.sequences import default_looks, with_sequence
from conjury.analysis.numerics.intervals.confidence_sequences import half_widths
from conjury.inference.errors import InputError
from conjury.inference.tables.parquet import write_parquet

pytestmark = pytest.mark.filterwarnings("ignore:Few clusters")


def choices(pairs: int, effect: float = 0.2, seed: int = 1) -> pd.DataFrame:
    """Forced choices in which a large town beats a small one with probability .5 plus the AMCE."""
    rng = np.random.default_rng(seed)
    size = rng.integers(0, 2, (pairs, 2))
    first = rng.random(pairs) < 0.5 + effect * (size[:, 0] - size[:, 1])
    pairs_of = np.repeat([f"p{n}" for n in range(pairs)], 2)
    return forced_choices({"size": ["small", "large"]}, {"size": size}, first, pair_id=pairs_of)


def test_each_look_has_the_estimates_of_the_clusters_so_far():
    data = choices(400)
    path = sequential(amce, data, "chosen ~ size", id="pair_id", looks=[100, 250, 400]).frame
    for look in (100, 250, 400):
        fixed = amce(data.iloc[: 2 * look], "chosen ~ size", id="pair_id").frame.iloc[1]
        row = path[(path["n_units"] == look) & (path["level"] == "large")].iloc[0]
        assert row["estimate"] == fixed["estimate"]
        assert (row["fixed_lower"], row["fixed_upper"]) == (fixed["lower"], fixed["upper"])
        half = half_widths(look * fixed["std_error"] ** 2, look, 0.05, 500)
        assert (row["upper"] - row["lower"]) / 2 == pytest.approx(float(half))


def test_clusters_come_in_the_order_of_their_first_row_not_of_their_names():
    data = choices(120)
    data["pair_id"] = np.repeat(np.arange(120)[::-1], 2)
    path = sequential(amce, data, "chosen ~ size", id="pair_id", looks=[60]).frame
    assert path["estimate"][1] == amce(data.iloc[:120], "chosen ~ size", id="pair_id").frame["estimate"][1]


def test_marginal_means_are_tested_against_one_half():
    path = sequential(mm, choices(300, effect=0.0), "chosen ~ size", id="pair_id", looks=[300]).frame
    assert path["estimate"].between(0.4, 0.6).all()
    assert (path["p"] > 0.05).all()
    assert ((path["lower"] < 0.5) & (path["upper"] > 0.5)).all()


def test_differences_have_sequences():
    data = choices(400).assign(half=np.repeat(["a", "b"], 400))
    data["half"] = np.tile(np.repeat(["a", "b"], 2), 200)
    found = sequential(amce_diffs, data, "chosen ~ size", id="pair_id", by="half", looks=[200, 400]).frame
    assert np.isfinite(found[["lower", "upper"]].to_numpy(float)).any()
    assert (found["lower"] < found["fixed_lower"]).any()


@pytest.mark.long
def test_below_a_hundred_clusters_or_thirty_of_a_level_there_is_no_limit():
    data = choices(150)
    rare = data.assign(size=data["size"].cat.add_categories("huge"))
    rare.loc[[0, 9, 44], "size"] = "huge"
    found = sequential(amce, rare, "chosen ~ size", id="pair_id").frame
    last = found[found["n_units"] == 150].set_index("level")
    assert np.isfinite(last.loc["large", ["lower", "upper"]].to_numpy(float)).all()
    assert np.isinf(last.loc["huge", ["lower", "upper"]].to_numpy(float)).all()
    assert last.loc["huge", "p"] == 1
    few = sequential(amce, choices(90), "chosen ~ size", id="pair_id").frame
    assert few["n_units"].unique().tolist() == [90]
    assert np.isinf(few["upper"][1])


def test_outcomes_that_do_not_vary_are_not_known_exactly():
    table = pd.DataFrame({"estimate": [1.0, 0.3], "std_error": [0.0, 0.1], "lower": 0.0, "upper": 1.0})
    found = with_sequence(table, 200, 0.05, 500)
    assert np.isinf(found.loc[0, ["lower", "upper"]].to_numpy(float)).all()
    assert found["p"][0] == 1
    assert np.isfinite(found["upper"][1])


def test_rows_without_an_answer_do_not_count_as_units():
    data = choices(100)
    data["chosen"] = data["chosen"].astype("Int8")
    data.loc[data.index[:80], "chosen"] = pd.NA
    found = sequential(amce, data, "chosen ~ size", id="pair_id").frame
    assert found["n_units"].max() == 60


def test_a_file_gives_what_its_table_gives(tmp_path):
    data = choices(80)
    write_parquet(data, tmp_path / "choices.parquet")
    found = sequential(amce, tmp_path / "choices.parquet", "chosen ~ size", id="pair_id").frame
    assert found["lower"].equals(sequential(amce, data, "chosen ~ size", id="pair_id").frame["lower"])


def test_looks_are_spread_from_the_fewest_units_to_all():
    assert default_looks(10) == [10]
    assert default_looks(101) == [100, 101]
    assert (default_looks(1_000)[0], default_looks(1_000)[-1], len(default_looks(1_000))) == (100, 1_000, 20)


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "sequential"))
def test_impossible_looks_are_refused(match, columns, options) -> None:
    with pytest.raises(InputError, match=match):
        sequential(amce, choices(60), "chosen ~ size", id="pair_id", **options)


def test_looks_beyond_the_data_are_omitted_with_a_note_and_no_answer_is_refused():
    data = choices(60)
    found = sequential(amce, data, "chosen ~ size", id="pair_id", looks=[40, 90])
    assert found.frame["n_units"].unique().tolist() == [40]
    assert "Looks at more than the 60 units of the data were omitted." in found.notes
    with pytest.raises(InputError, match="has no answer"):
        sequential(amce, data.assign(chosen=np.nan), "chosen ~ size", id="pair_id")
