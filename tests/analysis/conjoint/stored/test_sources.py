"""Where tables may lie, and what is refused of them in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases import cases, refusals
from made_up.choices import profiles_with_gaps
from stored import F, in_duckdb, same

from conjury.analysis.conjoint import adjust, amce, cj_anova, mm, wild
from conjury.analysis.conjoint.engines import cluster_sums, queries, stored_rows
from conjury.inference import errors
from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.tables.parquet import write_parquet

ibis = pytest.importorskip("ibis", reason="Ibis is not installed (the extra database)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files under a partition each, with levels in an order of their own."""
    data = profiles_with_gaps(400)
    data["a"] = pd.Categorical(data["a"], categories=["z", "x", "never", "y"])
    for name, part in data.groupby("g"):
        place = tmp_path / "rows" / f"wave={name}"
        place.mkdir(parents=True)
        with (place / "rows.parquet").open("wb") as file:
            write_parquet(part.drop(columns="g"), file)
    return tmp_path / "rows"


def in_memory(folder: Path) -> pd.DataFrame:
    parts = {path.parent.name[5:]: pd.read_parquet(path) for path in sorted(folder.rglob("*.parquet"))}
    return pd.concat([part.assign(wave=name) for name, part in parts.items()], ignore_index=True)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:No estimate")
def test_folders_globs_and_addresses_are_read_with_their_levels_and_partitions(folder: Path) -> None:
    import fsspec

    expected = amce(in_memory(folder), f"{F} + wave", id="respondent")
    assert expected.frame["level"].iloc[0] == "z"
    for data in (folder, str(folder), f"{folder}/*/*.parquet"):
        same(amce(data, f"{F} + wave", id="respondent"), expected)
    store = fsspec.filesystem("memory")
    for path in folder.rglob("*.parquet"):
        store.pipe(f"/bucket/{path.parent.name}.parquet", path.read_bytes())
    found = amce("memory://bucket/*.parquet", F, id="respondent", reference={"a": "z"})
    assert found.settings["n_rows"] == len(in_memory(folder))
    assert found.frame["level"].tolist()[:3] == ["z", "x", "y"]


def test_numbers_of_a_partition_are_no_levels_and_columns_that_are_missing_are_named(folder: Path) -> None:
    with pytest.raises(InputError, match=r"no column 'nosuch'; the columns are .*'wave'"):
        amce(folder, "y ~ nosuch", id="respondent")
    with pytest.raises(InputError, match=r"'respondent' is numeric; .* store it as text, or give table"):
        amce(folder, "y ~ respondent")


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "stored tables"))
@pytest.mark.parametrize("most", [5_000_000, 10])
def test_what_cannot_be_estimated_is_refused_in_one_sentence(
    match: str, columns: dict[str, Any], options: dict[str, Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_ROWS", most)
    with pytest.raises(InputError, match=match):
        amce(in_duckdb(profiles_with_gaps().assign(**columns)), F, **options)


@pytest.mark.parametrize("most", [5_000_000, 10])
def test_tables_without_rows_are_refused(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_ROWS", most)
    with pytest.raises(InputError, match="The data have no rows"):
        amce(in_duckdb(profiles_with_gaps().iloc[:0]), F)


def test_other_engines_and_tests_of_rows_need_memory() -> None:
    table = in_duckdb(profiles_with_gaps(200))
    with pytest.raises(InputError, match="Engine 'survey' needs rows in memory"):
        amce(table, F, engine="survey")
    with pytest.raises(InputError, match="needs rows in memory: give a data frame"):
        cj_anova(table, F, by="g")
    for correct in ("ppi", "reliability", 0.1):
        with pytest.raises(InputError, match="needs rows in memory: give a data frame"):
            mm(table, "y ~ a", correct=correct, id="text")
    with pytest.raises(InputError, match="strata without clusters need rows in memory"):
        amce(table, F, strata="g")


def test_addresses_without_files_and_missing_libraries_are_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in (tmp_path, "foo://bucket"):
        with pytest.raises(InputError, match=r"no Parquet files can be read .*; check the address\.$"):
            amce(address, F)
    monkeypatch.setattr("conjury.inference.errors.find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"pip install 'conjury\[database\]'"):
        amce(tmp_path, F)


def test_tests_that_draw_clusters_refuse_or_draw_from_the_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    data = profiles_with_gaps(900).dropna()
    monkeypatch.setattr(queries, "MOST_ROWS", 10)
    fit = amce(in_duckdb(data), F, id="respondent")
    with pytest.raises(InputError, match="draws clusters, which need rows in memory"):
        wild(fit)
    found = adjust(fit, "romano_wolf", seed=1).frame["p_adjusted"].dropna()
    expected = adjust(amce(data, F, id="respondent"), "romano_wolf", seed=1).frame["p_adjusted"].dropna()
    assert np.allclose(found, expected, atol=0.05)


def test_the_wild_bootstrap_draws_clusters_where_their_sums_fit_into_memory() -> None:
    data = profiles_with_gaps(900)
    found = wild(amce(in_duckdb(data), F, id="respondent"), draws=199, seed=1)
    expected = wild(amce(data, F, id="respondent"), draws=199, seed=1)
    pd.testing.assert_frame_equal(found.frame, expected.frame, rtol=1e-10, check_categorical=False)


@pytest.mark.parametrize(
    ("limits", "data", "formula", "words"),
    [
        (
            [],
            profiles_with_gaps(100).rename(columns={"a": "conjury_rows"}),
            "y ~ conjury_rows + b",
            "which is kept for queries",
        ),
        (
            [(stored_rows, "MOST_CELLS", 5)],
            profiles_with_gaps(300),
            F,
            "more than 5 combinations that occur; name fewer",
        ),
        (
            [(queries, "MOST_COEFFICIENTS", 4)],
            profiles_with_gaps(300),
            F,
            "5 coefficients at once are too many for a query",
        ),
    ],
)
def test_what_is_too_much_for_queries_or_named_as_they_name_is_refused(
    limits: list[tuple[Any, str, int]],
    data: pd.DataFrame,
    formula: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module, name, value in [(queries, "MOST_ROWS", 10), *limits]:
        monkeypatch.setattr(module, name, value)
    with pytest.raises(InputError, match=words):
        amce(in_duckdb(data), formula, id="text")


def test_a_table_that_is_drawn_anew_by_each_query_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_ROWS", 10)
    with pytest.raises(InputError, match=r"Two queries of one table gave .* rows; .*\.cache\(\)"):
        amce(in_duckdb(profiles_with_gaps(2_000)).sample(0.3), F, id="text")


def test_a_file_whose_name_has_signs_of_a_glob_is_that_file(tmp_path: Path) -> None:
    for name, n in (("data[1].parquet", 300), ("data1.parquet", 200)):
        with (tmp_path / name).open("wb") as file:
            write_parquet(profiles_with_gaps(n), file)
    assert amce(str(tmp_path / "data[1].parquet"), F, id="text").settings["n_rows"] == 300
    with (tmp_path / "aaa.parquet").open("wb") as file:
        write_parquet(
            profiles_with_gaps(100).assign(a=pd.Categorical(["z", "y"] * 50, ["z", "y", "x"])), file
        )
    assert amce(f"{tmp_path}/data1*.parquet", F, id="text").frame["level"].iloc[0] == "x"


@pytest.mark.long
def test_products_are_summed_in_as_many_queries_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    data = profiles_with_gaps(500).dropna()
    monkeypatch.setattr(queries, "MOST_ROWS", 10)
    monkeypatch.setattr(cluster_sums, "MOST_PRODUCTS", 4)
    same(amce(in_duckdb(data), F, id="text"), amce(data, F, id="text"))


@pytest.mark.database
def test_a_delta_table_is_read(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    data = profiles_with_gaps(400).dropna()
    deltalake.write_deltalake(tmp_path / "table", data)
    same(amce(tmp_path / "table", F, id="text"), amce(data, F, id="text"))


@pytest.fixture
def iceberg(tmp_path: Path) -> Any:
    """A table in two files, of which one was replaced."""
    catalogs = pytest.importorskip("pyiceberg.catalog.sql")
    catalog = catalogs.SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    rows = pa.Table.from_pandas(profiles_with_gaps(400).dropna(), preserve_index=False)
    table = catalog.create_table("n.rows", schema=rows.schema)
    table.append(rows.slice(0, 10))
    table.overwrite(rows.slice(0, 100))
    table.append(rows.slice(100))
    return table


@pytest.mark.database
def test_the_newest_version_of_an_iceberg_table_is_read(iceberg: Any, tmp_path: Path) -> None:
    data = profiles_with_gaps(400).dropna()
    same(amce(tmp_path / "n" / "rows", F, id="text"), amce(data, F, id="text"))
    newest = max((tmp_path / "n" / "rows" / "metadata").glob("*.metadata.json"))
    newest.rename(newest.with_name("v10.metadata.json"))
    same(amce(tmp_path / "n" / "rows", F, id="text"), amce(data, F, id="text"))


@pytest.mark.database
def test_renamed_columns_and_a_missing_library_of_iceberg_are_refused(
    iceberg: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with iceberg.update_schema() as changes:
        changes.rename_column("a", "other")
    with pytest.raises(InputError, match="renamed columns or rows that are marked as deleted; rewrite"):
        amce(tmp_path / "n" / "rows", "y ~ other", id="text")
    known = errors.find_spec
    monkeypatch.setattr(errors, "find_spec", lambda name: None if name == "pyiceberg" else known(name))
    with pytest.raises(MissingDependency, match=r"pyiceberg is not installed; pip install 'pyiceberg"):
        amce(tmp_path / "n" / "rows", F)


@pytest.fixture(scope="module")
def spark() -> Any:
    sql = pytest.importorskip("pyspark.sql")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    yield ibis.pyspark.connect(session)
    session.stop()


@pytest.mark.database
@pytest.mark.parametrize("most", [5_000_000, 10])
@pytest.mark.parametrize("options", cases(__file__, "options_of_fits"), ids=str)
def test_spark_gives_the_numbers_of_rows_in_memory(
    spark: Any, options: dict[str, Any], most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = profiles_with_gaps(800)
    data.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr(queries, "MOST_ROWS", most)
    monkeypatch.setattr(queries, "MOST_ENTRIES", 400)
    found = amce(spark.read_parquet(str(tmp_path / "rows.parquet")), F, **options)
    same(found, amce(data, F, **options))
