"""Tables that stay in their engine give the numbers of rows in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import golden
import numpy as np
import pandas as pd
import pytest
from cases import calls
from made_up.choices import forced_choices, profiles_with_gaps
from stored import F, in_duckdb, same

from conjury.analysis import conjoint
from conjury.analysis.conjoint import FewClusters, amce, amce_diffs, cj_freqs, cj_props, mm
from conjury.analysis.conjoint.engines import cluster_sums, queries
from conjury.analysis.conjoint.estimates import Estimates
from conjury.inference.tables.parquet import write_parquet

ibis = pytest.importorskip("ibis", reason="Ibis is not installed (the extra database)")

WAYS = {"sums": queries.BY_SUMS, "scores": queries.BY_SCORES}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "scores":
        monkeypatch.setattr(queries, "MOST_ROWS", 10)
    return str(request.param)


CALLS = calls("stored tables")


@pytest.mark.filterwarnings("ignore:Column 'g' is missing", "ignore:No estimate")
@pytest.mark.parametrize(
    "name",
    ["amce CR1", *(pytest.param(name, marks=pytest.mark.slow) for name in CALLS if name != "amce CR1")],
)
def test_estimates_by_clusters_are_those_of_rows_in_memory(name: str, way: str) -> None:
    verb, formula, options = CALLS[name]
    data = profiles_with_gaps()
    data.loc[data["respondent"].isin([3, 4]), ["y", "score"]] = np.nan  # clusters without an answer
    found = verb(in_duckdb(data), formula, **options)
    assert found.settings["computed_from"] == WAYS[way]
    same(found, verb(data, formula, **options))


OF_ROWS = [{}, {"vcov": "HC1"}, {"vcov": "HC2"}, {"vcov": "HC3"}]


@pytest.mark.parametrize(
    ("outcome", "options"),
    [*((outcome, one) for outcome in ("y", "score") for one in OF_ROWS), ("y", {"family": "quasibinomial"})],
    ids=lambda value: value if isinstance(value, str) else str(*value.values()) or "survey",
)
def test_estimates_of_independent_rows_are_those_of_rows_in_memory(
    outcome: str, options: dict[str, Any], way: str
) -> None:
    data, formula = profiles_with_gaps(), f"{outcome} ~ a + b + c"
    found = amce(in_duckdb(data), formula, **options)
    assert found.settings["computed_from"] == (queries.BY_COUNTS if way == "sums" else queries.BY_MOMENTS)
    same(found, amce(data, formula, **options))


def test_cr2_comes_from_sums_by_cluster_and_is_refused_where_these_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = profiles_with_gaps(600)
    for formula in (F, "score ~ a + b + c"):
        same(
            amce(in_duckdb(data), formula, id="text", vcov="CR2"), amce(data, formula, id="text", vcov="CR2")
        )
    monkeypatch.setattr(queries, "MOST_ROWS", 10)
    with pytest.raises(queries.InputError, match=r"vcov='CR2' need the sums .* column and vcov='CV3', or"):
        amce(in_duckdb(data), F, id="text", vcov="CR2")


JACKKNIVES: dict[str, tuple[Callable[..., Estimates], dict[str, Any]]] = {
    "amce": (amce, {"id": "text"}),
    "weights": (amce, {"id": "respondent", "weights": "w"}),
    "differences": (amce_diffs, {"id": "text", "by": "g"}),
    "means": (mm, {"id": "respondent"}),
}


@pytest.mark.filterwarnings("ignore:Column 'g' is missing", "ignore::conjury.analysis.conjoint.FewClusters")
@pytest.mark.parametrize(
    "name", ["weights", "differences", *(pytest.param(n, marks=pytest.mark.long) for n in ("amce", "means"))]
)
def test_the_jackknife_reads_some_clusters_at_a_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verb, options = JACKKNIVES[name]
    data = profiles_with_gaps(900)
    monkeypatch.setattr(queries, "MOST_ROWS", 10)
    monkeypatch.setattr(queries, "MOST_ENTRIES", 200)
    found, expected = verb(in_duckdb(data), F, vcov="CV3", **options), verb(data, F, vcov="CV3", **options)
    assert found.settings["computed_from"] == queries.BY_BATCHES
    same(found, expected)
    numbers = [one.extra["effective_clusters"][["independent", "equal"]] for one in (found, expected)]
    np.testing.assert_allclose(*numbers, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", ["respondent", "text"])
def test_clusters_are_taken_in_parts_where_an_engine_cannot_hold_all(
    clusters: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = profiles_with_gaps(900).dropna()
    monkeypatch.setattr(queries, "MOST_ROWS", 10)
    monkeypatch.setattr(cluster_sums, "MOST_SUMS", 200)
    same(amce(in_duckdb(data), F, id=clusters), amce(data, F, id=clusters))
    crossed = {"id": ["respondent", "text"], "vcov": "CR0"}
    same(amce(in_duckdb(data), F, **crossed), amce(data, F, **crossed))


def test_strata_come_from_counts() -> None:
    data = profiles_with_gaps().dropna(subset=["g"])
    data["stratum"] = np.where(data["respondent"] % 2, "odd", "even")
    options = {"id": "respondent", "strata": "stratum"}
    same(amce(in_duckdb(data), F, **options), amce(data, F, **options))


@pytest.mark.parametrize("verb", [cj_freqs, cj_props])
@pytest.mark.parametrize("options", [{}, {"weights": "w"}], ids=["rows", "weights"])
def test_counts_are_those_of_rows_in_memory(verb: Callable[..., Estimates], options: dict[str, Any]) -> None:
    data = profiles_with_gaps()
    same(verb(in_duckdb(data), "~ a + b", **options), verb(data, "~ a + b", **options))


@pytest.mark.long
def test_means_of_forced_choices_are_tested_against_chance_and_repeats_are_excluded(way: str) -> None:
    rng = np.random.default_rng(2)
    first = rng.integers(0, 2, 400)
    described = {"judge_id": np.repeat(["m1", "m2"], 400), "repeat": np.arange(800) % 40 < 4}
    data = forced_choices({"tone": ["kind", "rude"]}, {"tone": rng.integers(0, 2, 800)}, first, **described)
    with pytest.warns(UserWarning, match="80 rows of repeated pairs") as warned:
        found = mm(in_duckdb(data), "chosen ~ tone", id="pair_id")
    assert found.provenance.null == 0.5
    with pytest.warns(UserWarning, match="80 rows") as expected:
        same(found, mm(data, "chosen ~ tone", id="pair_id"))
    assert str(warned[0].message) == str(expected[0].message)
    odd = data.assign(chosen=data["chosen"].where(data["pair_id"] % 10 != 0, 1.0), repeat=False)
    with pytest.warns(UserWarning, match="In 360 of 400 choices exactly one") as warned:
        assert mm(in_duckdb(odd), "chosen ~ tone", id="pair_id").provenance.null == 0.0
    assert mm(in_duckdb(profiles_with_gaps(300)), "y ~ a", id="text").provenance.null == 0.0


def sentences(caught: pytest.WarningsRecorder) -> list[str]:
    """Warnings about clusters, without those about what other tests left behind for the garbage collector."""
    return [str(one.message) for one in caught if one.category is FewClusters]


@pytest.mark.long
def test_levels_in_few_clusters_are_named_as_in_memory(way: str) -> None:
    data = profiles_with_gaps(800)
    data.loc[data["text"].isin(["t1", "t2", "t3"]), "a"] = "rare"
    data = data[(data["a"] != "rare") | data["text"].isin(["t1", "t2", "t3"])]
    with pytest.warns(FewClusters, match="a=rare has 3") as found:
        amce(in_duckdb(data), F, id="text")
    with pytest.warns(FewClusters) as expected:
        amce(data, F, id="text")
    assert sentences(found) == sentences(expected)


@pytest.mark.parametrize("weights", [None, "w"])
def test_a_cluster_with_most_rows_is_named_as_in_memory(way: str, weights: str | None) -> None:
    data = profiles_with_gaps(800)
    data["text"] = np.where(np.arange(len(data)) % 10 < 8, "t0", data["text"])
    data["w"] = np.where(data["text"] == "t0", 1.0, 0.7)
    messages = []
    for rows in (in_duckdb(data), data):
        with pytest.warns(FewClusters, match="weigh as 1") as caught:
            amce(rows, F, id="text", weights=weights, vcov="CR1")
        messages.append(sentences(caught))
    assert messages[0] == messages[1]


NAMES_OF_QUERIES = [
    ["m0", "x0", "X1", "r0"],
    ["f0", "c0", "answered", "size"],
    ["rows0", "s0", "total", "c1"],
]


@pytest.mark.long
@pytest.mark.parametrize("names", NAMES_OF_QUERIES, ids=str)
def test_no_name_of_a_column_meets_those_of_queries(names: list[str], way: str) -> None:
    for turn in range(4):
        a, b, c, unit = names[turn:] + names[:turn]
        data = profiles_with_gaps(500).rename(columns={"a": a, "b": b, "c": c, "respondent": unit})
        formula = f"y ~ {a} + {b} + {c}"
        same(amce(in_duckdb(data), formula, id=unit), amce(data, formula, id=unit))
        if turn % 2 == 0:
            right = formula.removeprefix("y ")
            same(cj_freqs(in_duckdb(data), right), cj_freqs(data, right))


@pytest.mark.long
def test_outcomes_that_are_not_a_number_are_missing(way: str, tmp_path: Path) -> None:
    data = profiles_with_gaps(600)
    data.to_parquet(tmp_path / "rows.parquet")
    table = ibis.duckdb.connect().read_parquet(str(tmp_path / "rows.parquet"))
    assert table.y.isnan().sum().to_pyarrow().as_py() or table.y.isnull().sum().to_pyarrow().as_py()
    table = table.mutate(y=table.y.fill_null(float("nan")))
    assert table.y.isnan().sum().to_pyarrow().as_py() > 10
    same(amce(table, F, id="text"), amce(data, F, id="text"))


@pytest.mark.long
def test_degrees_of_freedom_of_crossed_columns_need_no_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    data = profiles_with_gaps(900)
    monkeypatch.setattr(queries, "MOST_ROWS", 10)
    monkeypatch.setattr(queries, "MOST_NESTED_ROWS", 100)
    with pytest.raises(queries.InputError, match="more than 100 combinations"):
        amce(in_duckdb(data), F, id=["respondent", "text"], vcov="CR1")
    monkeypatch.setattr(queries, "MOST_NESTED_ROWS", 5_000)
    score = data.assign(y=data["score"])
    options: dict[str, Any] = {"id": ["respondent", "text"], "vcov": "CR1"}
    same(amce(in_duckdb(score), F, **options), amce(score, F, **options))


@pytest.mark.long
def test_many_levels_have_a_key_that_does_not_overflow(way: str) -> None:
    rng = np.random.default_rng(4)
    names = [f"a{k}" for k in range(12)]
    data = pd.DataFrame({name: rng.choice(list("pqrst"), 700) for name in names})
    data = data.assign(y=rng.random(700), u=rng.integers(0, 90, 700))
    formula = f"y ~ {' + '.join(names)}"
    same(amce(in_duckdb(data), formula, id="u"), amce(data, formula, id="u"), 1e-9)


CHEAP = ["taxes_amce_id_weights"]
WITH_A_NULL = "immigration_mm_diffs_ethno_h0_alpha10"  # of a difference, which `mm_diffs` refuses
NAMES = [
    name
    for name in golden.NAMES
    if golden.CALLS[name][0] not in ("cj_tidy", "cj_table", "cj_anova") and name != WITH_A_NULL
]


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize(
    "name", [name if name in CHEAP else pytest.param(name, marks=pytest.mark.database) for name in NAMES]
)
@pytest.mark.filterwarnings("ignore")
def test_folders_of_parquet_give_the_numbers_of_the_tables_that_cregg_made(
    name: str, way: str, tmp_path: Path
) -> None:
    call = golden.golden_call(name)
    verb = getattr(conjoint, call.verb)
    options = {"h0": 0.0, **call.options} if call.verb == "mm" else call.options
    half = len(call.data) // 2
    for number, part in enumerate((call.data.iloc[:half], call.data.iloc[half:])):
        with (tmp_path / f"part{number}.parquet").open("wb") as file:
            write_parquet(part, file)
    if way == "scores" and options.get("weights") and not options.get("id"):
        with pytest.raises(queries.InputError, match="with weights without clusters need the sums"):
            verb(str(tmp_path), call.formula, **options)
        return
    same(verb(str(tmp_path), call.formula, **options), verb(call.data, call.formula, **options))


def test_nothing_is_warned_of_that_memory_does_not_warn_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        amce(in_duckdb(profiles_with_gaps().dropna()), F, id="respondent")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"clusters": ("u",)}, None),
        ({}, None),
        ({"weights": "w"}, "weights without clusters"),
        ({"strata": "s", "clusters": ("u",)}, "strata"),
        ({"clusters": ("u",), "vcov": "CR2"}, "vcov='CR2'"),
    ],
)
def test_what_sums_over_clusters_do_not_give_is_named(options: dict[str, Any], what: str | None) -> None:
    request = SimpleNamespace(**{"strata": None, "weights": None, "clusters": (), "vcov": "CR1", **options})
    assert queries._unsummable_option(request) == what
