"""The bootstrap of tables that stay in their engine, against draws with the same weights in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import calls, refusals
from made_up.choices import forced_choices, profiles_with_gaps
from stored import F, in_duckdb

from conjury.analysis.conjoint import Bootstrap, adjust, amce, bootstrap, cj, mm
from conjury.analysis.conjoint.engines import unit_sums
from conjury.analysis.conjoint.engines.replicates import influence_moments, replicate
from conjury.analysis.conjoint.estimation import plan_for
from conjury.analysis.conjoint.estimation_plan import CountPlan, EstimationPlan
from conjury.analysis.conjoint.request import make_request
from conjury.analysis.conjoint.verbs.frequencies import counted_cells, freqs_plan, props_plan
from conjury.analysis.frames import unit_batches
from conjury.analysis.numerics import intervals
from conjury.analysis.numerics.poisson import poisson_weights, states_of
from conjury.inference.errors import InputError

ibis = pytest.importorskip("ibis", reason="Ibis is not installed (the extra database)")

DRAWS = 40
CALLS = calls("bootstrap of stored tables")
WAYS = {
    **dict.fromkeys(["amce of few cells", "restricted", "a score", "logistic"], unit_sums.BY_CELLS),
    **dict.fromkeys(["frequencies", "shares"], unit_sums.BY_COUNTS),
}
CROSSED = ["amce", "weights", "logistic", "differences", "frequencies"]
PLANS_OF_COUNTS = {"cj_freqs": freqs_plan, "cj_props": props_plan}
pytestmark = [
    pytest.mark.filterwarnings("ignore:Column 'g' is missing"),
    pytest.mark.filterwarnings("ignore:In .* draws there is no finite"),
]


def weights_of(data: pd.DataFrame, units: list[str], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of rows in each draw, (n, draws), and the units of the table by those of the draw, (draws,)."""
    rows, sizes = np.ones((len(data), DRAWS)), np.ones(DRAWS)
    for factor, name in enumerate(units):
        codes, names = pd.factorize(data[name])
        own = poisson_weights(states_of(map(str, names), seed, factor), DRAWS).astype(float)
        rows *= own[codes]
        sizes *= len(names) / own.sum(axis=0)
    return rows, sizes


def plan_in_memory(call: tuple[Any, ...], data: pd.DataFrame) -> EstimationPlan | CountPlan:
    verb, formula, options = call
    name = "cj_mm" if verb is cj else verb.__name__
    request = make_request(name, formula, **{k: v for k, v in options.items() if k != "estimate"})
    if name in PLANS_OF_COUNTS:
        return PLANS_OF_COUNTS[name](request, counted_cells(request, data))
    return plan_for(request, data)


def rare(data: pd.DataFrame) -> pd.DataFrame:
    """A level that two respondents alone show, so that some draws lose it."""
    return data.assign(a=data["a"].where(~data["respondent"].isin([3, 4]), "rare"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "units"),
    [*((name, ["respondent"]) for name in CALLS), *((name, ["respondent", "text"]) for name in CROSSED)],
    ids=str,
)
def test_replicates_are_those_of_rows_in_memory_with_the_same_weights(name: str, units: list[str]) -> None:
    verb, formula, options = CALLS[name]
    data = rare(profiles_with_gaps(900))
    found = bootstrap(verb, in_duckdb(data), formula, unit=units, draws=DRAWS, seed=5, **options)
    plan = plan_in_memory(CALLS[name], data)
    weights, sizes = weights_of(data, units, 5)
    cells = plan.cells
    by_cell = [
        np.stack([np.bincount(cells.cell, column * own, cells.n_cells) for column in weights.T], axis=1)
        for own in (cells.weight, cells.weight * cells.outcome)
    ]
    expected = replicate(plan, *by_cell)
    if name == "frequencies":
        expected *= sizes[:, None]
    np.testing.assert_allclose(found.replicates, expected, rtol=1e-10, atol=1e-12)
    assert np.isnan(found.replicates).any() == (name not in ("frequencies", "shares"))
    assert found.settings["computed_from"] == WAYS.get(name, unit_sums.BY_PRODUCTS)


@pytest.mark.long
@pytest.mark.parametrize("largest", [0, 300])
def test_a_unit_that_is_drawn_twice_counts_twice_with_all_of_its_rows(largest: int) -> None:
    data = profiles_with_gaps(600)
    data["respondent"] = np.where(np.arange(600) % 2 & (largest > 0), 0, data["respondent"])
    found = bootstrap(amce, in_duckdb(data), F, unit="respondent", draws=DRAWS, seed=2)
    weights, _ = weights_of(data, ["respondent"], 2)
    for draw in range(3):
        copies = data.loc[np.repeat(data.index, weights[:, draw].astype(int))]
        np.testing.assert_allclose(found.replicates[draw], amce(copies, F).frame["estimate"], rtol=1e-10)


@pytest.mark.parametrize("units", [["respondent"], ["respondent", "text"]], ids=["one", "crossed"])
@pytest.mark.parametrize("name", ["amce", "frequencies"])
def test_standard_errors_are_those_of_draws_in_memory_up_to_chance(name: str, units: list[str]) -> None:
    verb, formula, options = CALLS[name]
    data, draws = profiles_with_gaps(1500), 1000
    # Respondents of different length, so that counts vary by what each puts in.
    data = data[(data["respondent"] % 3 > 0) | (np.arange(len(data)) % 2 > 0)]
    found, expected = (
        bootstrap(verb, rows, formula, unit=units, draws=draws, seed=1, **options)
        for rows in (in_duckdb(data), data)
    )
    ratio = (found.frame["std_error"] / expected.frame["std_error"]).dropna()
    # A standard deviation of B draws has a relative error of 1 / sqrt(2 B), and heavier tails add to it.
    assert len(ratio) > 3
    assert abs(np.log(ratio)).max() < 4.5 / np.sqrt(draws)


@pytest.mark.long
def test_draws_depend_on_seed_and_units_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = profiles_with_gaps(400)
    options: dict[str, Any] = {"unit": ["respondent", "text"], "draws": DRAWS}
    first = bootstrap(amce, in_duckdb(data), F, seed=1, **options)
    shuffled = data.sample(frac=1, random_state=1).astype({"respondent": "int16"})
    (tmp_path / "rows").mkdir()
    shuffled.iloc[:150].to_parquet(tmp_path / "rows" / "a.parquet")
    shuffled.iloc[150:].to_parquet(tmp_path / "rows" / "b.parquet")
    monkeypatch.setattr(unit_batches, "ROWS_AT_A_TIME", 37)
    monkeypatch.setattr(unit_sums, "ENTRIES_AT_A_TIME", 11)
    again = bootstrap(amce, tmp_path / "rows", F, seed=1, **options)
    np.testing.assert_allclose(again.replicates, first.replicates, rtol=1e-10, atol=1e-13)
    other = bootstrap(amce, in_duckdb(data), F, seed=2, **options)
    assert abs(other.replicates - first.replicates)[:, 1].min() > 0
    assert not np.array_equal(*(bootstrap(amce, in_duckdb(data), F, **options).replicates for _ in "ab"))


@pytest.mark.parametrize("unit", ["respondent", "text"])
def test_intervals_corrected_for_bias_use_the_influence_of_all_units(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = profiles_with_gaps(900)
    monkeypatch.setattr(unit_batches, "ROWS_AT_A_TIME", 100)
    found = bootstrap(amce, in_duckdb(data), F, unit=unit, draws=200, seed=1, method="bca")
    plan = plan_in_memory(CALLS["amce"], data)
    assert isinstance(plan, EstimationPlan)
    moments = influence_moments(plan, plan.cells.entries(*pd_units(data[unit])))
    estimate = found.frame["estimate"].to_numpy()
    sample = intervals.BootstrapSample(estimate, found.replicates, ~plan.is_reference)
    expected = intervals.bca(sample, moments, 0.05)
    for name in ("lower", "upper", "p"):
        np.testing.assert_allclose(found.frame[name], getattr(expected, name), rtol=1e-9)


def pd_units(column: pd.Series) -> tuple[np.ndarray, int]:
    codes, names = pd.factorize(column)
    return codes, len(names)


def test_what_is_recorded_is_what_memory_records() -> None:
    data = profiles_with_gaps(500)
    options: dict[str, Any] = {"unit": "respondent", "draws": 20, "seed": 1, "id": "text"}
    found, expected = (bootstrap(amce, rows, F, **options) for rows in (in_duckdb(data), data))
    settings = dict(found.settings)
    assert settings.pop("computed_from") == unit_sums.BY_PRODUCTS
    assert settings == dict(expected.settings)
    pd.testing.assert_series_equal(found.frame["estimate"], expected.frame["estimate"], rtol=1e-10)
    assert adjust(found, "romano_wolf", seed=1).frame["p_adjusted"].notna().any()


def test_one_parquet_file_is_read(tmp_path: Path) -> None:
    data = profiles_with_gaps(200)
    data.to_parquet(tmp_path / "rows.parquet")
    found, expected = (
        bootstrap(amce, rows, F, unit="text", draws=20, seed=1) for rows in (tmp_path / "rows.parquet", data)
    )
    np.testing.assert_array_equal(found.replicates, expected.replicates)


def test_means_of_forced_choices_keep_their_null_and_pairs_are_the_default_unit() -> None:
    rng = np.random.default_rng(2)
    first = rng.integers(0, 2, 200)
    judges = np.repeat(["h1", "h2"], 200)
    tone = {"tone": rng.integers(0, 2, 400)}
    data = forced_choices({"tone": ["kind", "rude"]}, tone, first, judge_id=judges, judge_kind="human")
    found = bootstrap(mm, in_duckdb(data), "chosen ~ tone", draws=50, seed=1)
    assert (found.provenance.null, found.settings["n_units"]) == (0.5, 200)
    shared = data.assign(pair_id=np.tile(np.repeat(np.arange(100), 2), 2))
    with pytest.raises(InputError, match="in column 'pair_id' belongs to several respondents"):
        bootstrap(mm, in_duckdb(shared), "chosen ~ tone", draws=50)


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "bootstrap of stored tables"))
def test_what_cannot_be_drawn_is_refused_in_one_sentence(
    match: str, columns: dict[str, Any], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit_sums, "MOST_SUMS", 100)
    verb, formula, given = CALLS[options.get("call", "amce")]
    changed = {key: value for key, value in options.items() if key != "call"}
    arguments: dict[str, Any] = {"formula": formula, "unit": "text", "draws": 10, **given, **changed}
    with pytest.raises(InputError, match=match):
        bootstrap(verb, in_duckdb(profiles_with_gaps(300).assign(one=1, **columns)), **arguments)


def test_a_table_that_changes_between_queries_is_refused() -> None:
    table = in_duckdb(profiles_with_gaps(2_000))
    with pytest.raises(InputError, match=r"Two queries of one table gave .* rows; if it is a sample"):
        bootstrap(amce, table.filter(ibis.random() < 0.5), "y ~ c", unit="text", draws=5)


def test_a_missing_level_of_all_draws_is_reported_as_in_memory() -> None:
    data = profiles_with_gaps(300).assign(y=1.0)
    with pytest.warns(UserWarning, match="No interval for .*: its draws do not differ enough"):
        found = bootstrap(amce, in_duckdb(data), F, unit="text", draws=20, seed=1)
    assert found.frame["std_error"].isna().all()
    assert isinstance(found, Bootstrap)


@pytest.mark.database
def test_spark_draws_the_same_units(tmp_path: Path) -> None:
    sql = pytest.importorskip("pyspark.sql")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    data = profiles_with_gaps(800)
    data.to_parquet(tmp_path / "rows.parquet")
    table = ibis.pyspark.connect(session).read_parquet(str(tmp_path / "rows.parquet"))
    for name, unit in {"amce": "respondent", "frequencies": ["respondent", "text"]}.items():
        verb, formula, options = CALLS[name]
        found, expected = (
            bootstrap(verb, rows, formula, unit=unit, draws=DRAWS, seed=1, **options)
            for rows in (table, in_duckdb(data))
        )
        np.testing.assert_allclose(found.replicates, expected.replicates, rtol=1e-10, atol=1e-12)
    session.stop()
