"""Scores of judgments that stay in their engine, against those of rows in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from stored import in_duckdb

from conjury.analysis.benchmark import by_label, confusion, differences, passes, score, scores
from conjury.analysis.benchmark.intervals import IntervalPlan
from conjury.analysis.frames import unit_batches
from conjury.analysis.numerics import bootstrap
from conjury.analysis.numerics.metrics import margins
from conjury.analysis.numerics.metrics.margins import expected_f1
from conjury.analysis.numerics.poisson import poisson_weights, states_of
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

ibis = pytest.importorskip("ibis", reason="Ibis is not installed (the extra database)")

TASKS = {"about": ["1", "2", "3"], "tone": ["kind", "rude", "odd"]}
KEYS = ["judge", "prompt", "task", "missing", "metric", "label", "gold", "predicted", "language"]


def made(n: int = 60, seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Judgments with missing answers, labels of most items, and items in two languages."""
    rng = np.random.default_rng(seed)
    items = [f"i{number}" for number in range(n)]
    labels, parts = [], []
    for task, classes in TASKS.items():
        gold = rng.choice(classes, n, p=[0.5, 0.3, 0.2])
        labels.append(pd.DataFrame({"item_id": items, "label_set": task, "label": gold}))
        for judge, samples in {"gpt": 2, "qwen": 1, "ann": 1}.items():
            for sample in range(samples):
                value = np.where(rng.random(n) < 0.6, gold, rng.choice([*classes, "other"], n))
                status = rng.choice(["ok", "refused", "empty"], n, p=[0.85, 0.1, 0.05])
                status = np.where(judge == "ann", "ok", status)
                part = {"judge_id": judge, "judge_kind": "human" if judge == "ann" else "model"}
                part |= {"prompt_id": rng.choice(["p1", "p2"], n) if judge == "qwen" else None}
                part |= {"item_id": items, "dimension": task, "sample": sample, "status": status}
                parts.append(pd.DataFrame(part | {"value": np.where(status == "ok", value, None)}))
    known = pd.concat(labels, ignore_index=True).iloc[:-7]
    language = rng.choice(["en", "es"], n)
    columns = {"item_id": items, "language": language, "topic_id": np.arange(n) % 10}
    return pd.concat(parts, ignore_index=True), known, pd.DataFrame(columns)


def ordered(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values([name for name in KEYS if name in frame], ignore_index=True)


def same(found: Result, expected: Result) -> None:
    pd.testing.assert_frame_equal(
        ordered(found.frame), ordered(expected.frame), rtol=1e-10, atol=1e-12, check_dtype=False
    )
    assert list(found.extra) == list(expected.extra)
    for name in found.extra:
        pair = [ordered(result.extra[name]) for result in (found, expected)]
        pd.testing.assert_frame_equal(*pair, rtol=1e-10, atol=1e-12, check_dtype=False)
    assert found.notes == expected.notes
    by_counts = {"computed_from": None, "interval": None}
    one, other = (result.settings | by_counts for result in (found, expected))
    assert one == other


KINDS = ["recall", "precision", "f1", "specificity", "share"]
POLICY = {"refused": "wrong", "qwen: refused": "missing", "empty": "rude", "gpt: empty": "kind"}
SCORED: dict[str, dict[str, Any]] = {
    "as given": {},
    "a policy": {"policy": {"refused": "wrong", "empty": "missing"}},
    "classes": {"classes": {"tone": ["rude", "kind"], "about": ["1", "2", "3"]}},
    "covers": {"covers": {"fine": ["kind"], "bad": ["rude", "odd"], "any": ["1", "2", "3"]}},
}
CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "scores": (scores, {"missing": ["wrong", "study"]}),
    "by language": (scores, {"by": ["language"], "cluster": "topic_id", "metrics": ["accuracy", "macro_f1"]}),
    "confusion": (confusion, {"by": ["language"]}),
    "labels": (by_label, {"by": ["language"], "cluster": "topic_id"}),
}
CASES = [("a policy", "scores"), ("a policy", "confusion")]
FURTHER = [("a policy", "by language"), ("a policy", "labels")]
FURTHER += [(given, "scores") for given in ("as given", "classes", "covers")]


@pytest.mark.long
@pytest.mark.parametrize(
    ("given", "call"), [*CASES, *(pytest.param(*case, marks=pytest.mark.database) for case in FURTHER)]
)
def test_numbers_are_those_of_rows_in_memory(given: str, call: str) -> None:
    judgments, labels, items = made()
    judgments = judgments.astype({"judge_id": "category"})
    stored = score(in_duckdb(judgments), labels, items=items, **SCORED[given])
    rows = score(judgments, labels, items=items, **SCORED[given])
    assert (stored.notes, stored.classes, stored.levels) == (rows.notes, rows.classes, rows.levels)
    function, options = CALLS[call]
    options = options if function is confusion else {"draws": 0, **options}
    same(function(stored, **options), function(rows, **options))


@pytest.mark.long
def test_a_policy_may_count_missing_answers_as_a_class() -> None:
    judgments, labels, items = made()
    keep = judgments["dimension"] == "tone"
    stored, rows = (
        score(table, labels, policy=POLICY, items=items)
        for table in (in_duckdb(judgments[keep]), judgments[keep])
    )
    same(scores(stored, draws=0, missing=["study"]), scores(rows, draws=0, missing=["study"]))


@pytest.mark.parametrize("function", [pytest.param(scores, marks=pytest.mark.long), by_label])
def test_intervals_are_those_of_memory_with_the_same_weights(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = ["accuracy", "macro_f1", "mcc", *(f"{kind}_rude" for kind in KINDS)]
    options = {"metrics": metrics} if function is scores else {"by": ["language"]}
    judgments, labels, items = made(80)
    labels = labels[labels["label_set"] == "tone"]
    items["topic_id"] = np.arange(len(items)) % 5  # so that every topic is everywhere

    def weights(plan: IntervalPlan, n_clusters: int, dtype: str = "float64") -> np.ndarray:
        drawn = poisson_weights(states_of(sorted(map(str, range(n_clusters))), plan.seed), plan.draws)
        return np.vstack([np.ones(n_clusters), drawn.T.astype(float)])

    monkeypatch.setattr(IntervalPlan, "weights", weights)
    monkeypatch.setattr(unit_batches, "ROWS_AT_A_TIME", 100)
    plan = {"draws": 50, "seed": 3, "cluster": "topic_id", "interval": "bootstrap"}
    expected = function(score(judgments, labels, items=items), **plan, **options)
    same(function(score(in_duckdb(judgments), labels, items=items), **plan, **options), expected)
    assert (expected.frame.filter(like="std_error").notna().mean() > 0.5).all()


@pytest.mark.parametrize("unit", [1, 0.1, 2.0**24 - 1])
def test_margins_are_the_sums_of_the_clusters_drawn(unit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, rng = IntervalPlan(draws=30, seed=4), np.random.default_rng(4)
    counts = np.vstack([np.ones(9), rng.multinomial(9, np.full(9, 1 / 9), 30)])
    monkeypatch.setattr(bootstrap, "BLOCK", 20)  # two draws at a time
    sums = unit * np.random.default_rng(5).integers(0, 3, (9, 3 * 2 + 2 + 1))
    drawn = plan.margins(sums, np.arange(2))
    parts = [drawn.gold, drawn.hits, drawn.unanswered, drawn.given]
    np.testing.assert_allclose(np.hstack(parts), counts @ sums, rtol=1e-14)


@pytest.mark.long
def test_standard_errors_are_those_of_draws_in_memory_up_to_chance() -> None:
    judgments, labels, _ = made(200)
    judgments = judgments[judgments["judge_id"] == "gpt"]
    draws, asked = 1000, ["accuracy", "macro_f1", "mcc", "missing_rate", "recall_rude"]
    options: dict[str, Any] = {"draws": draws, "metrics": asked, "missing": ["wrong"]}
    keep = labels["label_set"] == "tone"
    found, expected = (
        scores(score(table, labels[keep]), **options).frame for table in (in_duckdb(judgments), judgments)
    )
    ratio = ordered(found)["std_error"] / ordered(expected)["std_error"]
    assert ratio.notna().sum() > 4
    assert abs(np.log(ratio.dropna())).max() < 4.5 / np.sqrt(draws)


@pytest.mark.long
def test_files_are_scored_where_they_lie_whatever_the_order_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgments, labels, _ = made()
    expected = scores(score(in_duckdb(judgments), labels), draws=20, seed=2, metrics=["mcc"])
    (tmp_path / "rows").mkdir()
    shuffled = judgments.sample(frac=1, random_state=1)
    for number, part in enumerate((shuffled.iloc[:100], shuffled.iloc[100:])):
        part.to_parquet(tmp_path / "rows" / f"{number}.parquet")
    judgments.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr(unit_batches, "ROWS_AT_A_TIME", 50)
    known = in_duckdb(labels)
    same(scores(score(tmp_path / "rows", known), draws=20, seed=2, metrics=["mcc"]), expected)
    one, other = (score(rows, labels).frame for rows in (tmp_path / "rows.parquet", judgments))
    pd.testing.assert_frame_equal(one, other)


@pytest.mark.long
def test_numbers_as_values_and_items_are_the_text_of_memory() -> None:
    judgments, labels, _ = made()
    keep = judgments["dimension"] == "about"
    numbers = judgments[keep].assign(
        value=pd.to_numeric(judgments["value"][keep], errors="coerce"),
        item_id=judgments["item_id"][keep].str[1:].astype(int),
    )
    gold = labels.assign(item_id=labels["item_id"].str[1:].astype(int), label=labels["label"])
    same(scores(score(in_duckdb(numbers), gold), draws=0), scores(score(numbers, gold), draws=0))


def refused(change: Any, match: str, **options: Any) -> None:
    judgments, labels, items = made(30)
    with pytest.raises(InputError, match=match):
        score(in_duckdb(change(judgments)), labels, **{"items": items, **options})


@pytest.mark.long
def test_what_cannot_be_scored_is_refused_in_one_sentence() -> None:
    refused(lambda t: t.drop(columns="value"), "no column 'value'")
    refused(lambda t: t.iloc[:0], "there are no rows")
    refused(lambda t: t.assign(judge_id=None), "'judge_id' is empty in 240 rows; fill it in")
    refused(lambda t: pd.concat([t, t.iloc[:1]]), "'gpt' judges item 'i0' on 'about' 2 times in one sample")
    refused(lambda t: t[t["dimension"] == "tone"].assign(dimension="line_1"), "no label_set is")
    lines = pd.DataFrame({"item_id": ["i0"], "label_set": ["line_1"], "label": ["odd"]})
    with pytest.raises(InputError, match="2 judgments are of lines, which need rows in memory; filter"):
        score(in_duckdb(made()[0].iloc[:2].assign(dimension="line_1")), lines)
    refused(lambda t: t.iloc[:60].assign(dimension="mood"), "no label_set is a dimension of the judgments")
    refused(lambda t: t.assign(item_id="nowhere" + t.index.astype(str)), "nothing can be scored")
    refused(lambda t: t.assign(condition="typos"), "240 rows are of perturbed items, .* filter the table")
    copies = made(30)[2].assign(base_item_id="i0")
    refused(lambda t: t, "29 rows are of perturbed items", items=copies)
    refused(lambda t: t, "counts as 'nice'", policy={"empty": "nice"})


@pytest.mark.long
def test_what_needs_rows_refuses_answers_in_an_engine() -> None:
    judgments, labels, items = made(30)
    scored = score(in_duckdb(judgments), labels, items=items)
    for function in (differences, passes):
        with pytest.raises(InputError, match="needs rows in memory"):
            function(scored)
    with pytest.raises(InputError, match="needs rows in memory"):
        scores(scored, correct="ppi", model=scored)
    with pytest.raises(InputError, match="strata: baselines by stratum need rows in memory"):
        scores(scored, strata=["language"])
    with pytest.raises(InputError, match="there is no column 'nosuch'"):
        scores(scored, by=["nosuch"])
    with pytest.raises(InputError, match="There is no metric 'kappa'"):
        scores(scored, metrics=["kappa"], draws=0)
    empty = score(in_duckdb(judgments), labels, items=items.assign(language=None).astype({"language": "str"}))
    with pytest.raises(InputError, match="no answer has all of"):
        scores(empty, by=["language"])


def test_the_expected_f1_of_millions_of_units_is_that_of_mean_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = expected_f1(40_000, 100_000, 3)
    monkeypatch.setattr(margins, "MOST_COUNTS", 10)
    assert abs(expected_f1(40_000, 100_000, 3) - exact) < 1e-5


@pytest.mark.database
def test_spark_gives_the_scores_of_duckdb(tmp_path: Path) -> None:
    sql = pytest.importorskip("pyspark.sql")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    judgments, labels, items = made()
    judgments.to_parquet(tmp_path / "rows.parquet")
    table = ibis.pyspark.connect(session).read_parquet(str(tmp_path / "rows.parquet"))
    found, expected = (
        scores(score(each, labels, items=items, policy=SCORED["a policy"]["policy"]), draws=20)
        for each in (table, in_duckdb(judgments))
    )
    same(found, expected)
    session.stop()
