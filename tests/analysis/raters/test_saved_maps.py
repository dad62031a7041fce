"""A map of a judge's scores is kept in a file, used for later answers, audited, bound, and goes stale."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from sklearn.isotonic import IsotonicRegression

import conjury
from conjury import MapRequest
from conjury.inference.errors import InputError
from conjury.inference.tables.files import hash_of

OCTOBER, NOVEMBER = date(2026, 10, 20), date(2026, 11, 20)
BOUND = MapRequest(version="v1", prompt="none", day=OCTOBER)


def month(seed: int, labelled: int, favour: float = 0.0, prompts: int = 250) -> pd.DataFrame:
    """Two systems; the judge's scale is bent, and it favours the second."""
    rng = np.random.default_rng(seed)
    common, chosen = rng.normal(0, 0.8, prompts), rng.choice(prompts, labelled, replace=False)
    parts = []
    for place, name in enumerate(("old", "new")):
        quality = common + rng.normal(0, 0.6, prompts) + 0.25 * place
        noisy = quality + rng.normal(0, 0.35, prompts) + favour * place
        people = np.where(np.isin(np.arange(prompts), chosen), quality, np.nan)
        row = {"prompt": range(prompts), "system": name, "score": 1 / (1 + np.exp(-3 * noisy - 2.5))}
        parts.append(pd.DataFrame({**row, "ann": people, "quality": quality}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def october(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("maps"), month(5, 90))


def save(folder: Path, table: pd.DataFrame) -> Path:
    path = folder / "october.json"
    compare(table, replace(BOUND, save=path))
    return path


def compare(table: pd.DataFrame, maps: MapRequest, human: Any = "ann", **options: Any) -> Any:
    return conjury.compare_systems(table, "score", human, id="prompt", scale="interval", maps=maps, **options)


def test_a_level_by_a_saved_map_is_the_mean_of_the_isotonic_regression_of_its_labels(october: Path) -> None:
    first, second = month(5, 90), month(2, 0)
    result = compare(second, replace(BOUND, use=october, day=NOVEMBER), human=())
    labels = first.dropna(subset="ann")
    reference = IsotonicRegression(out_of_bounds="clip").fit(labels["score"], labels["ann"])
    rows = result.frame.set_index("name")
    for system, part in second.groupby("system"):
        expected = reference.predict(part["score"]).mean()
        assert rows.loc[f"borrowed_mean[{system}]", "estimate"] == pytest.approx(expected, abs=1e-9)
        assert rows.loc[f"borrowed_mean[{system}]", "lower"] < part["quality"].mean()
        assert rows.loc[f"borrowed_mean[{system}]", "upper"] > part["quality"].mean()
    assert "difference" not in rows.index
    assert result.extra["labels"]["state"].tolist() == ["BORROWED", "BORROWED"]
    assert result.extra["audit"]["audit"].tolist() == ["NOT CHECKED", "NOT CHECKED"]
    saved = result.extra["map"].iloc[0]
    assert (saved["days"], saved["state"], saved["labels"], saved["prompts"]) == (31, "FRESH", 180, 90)


@pytest.mark.parametrize(
    ("favour", "labelled", "verdict"), [(0.0, 150, "PASS"), (0.9, 150, "FAIL"), (0.0, 6, "INCONCLUSIVE")]
)
def test_labels_audit_a_saved_map_and_one_that_fails_lends_nothing(
    october: Path, favour: float, labelled: int, verdict: str
) -> None:
    table = month(3, labelled, favour)
    third = table[table["system"] == "new"].assign(system="third", ann=np.nan)
    maps = replace(BOUND, use=october, day=NOVEMBER)
    result = compare(pd.concat([table, third]), maps, margin=0.2)
    assert result.extra["audit"].set_index("system")["audit"].to_dict() == {
        "old": "PASS" if labelled > 10 else "INCONCLUSIVE", "new": verdict, "third": "NOT CHECKED",
    }  # fmt: skip
    state = result.extra["labels"].set_index("system").loc["third"]
    assert state["state"] == ("NO LABELS" if verdict == "FAIL" else "BORROWED")
    assert ("fails its audit by the labels of new" in state["reason"]) == (verdict == "FAIL")


def test_the_bias_of_a_map_is_that_of_peoples_labels_minus_what_it_says(october: Path) -> None:
    first, second = month(5, 90), month(3, 60, 0.9)
    result = compare(second, replace(BOUND, use=october, day=NOVEMBER))
    labels, of_new = first.dropna(subset="ann"), second[second["system"] == "new"].dropna(subset="ann")
    reference = IsotonicRegression(out_of_bounds="clip").fit(labels["score"], labels["ann"])
    residuals = of_new["ann"] - reference.predict(of_new["score"])
    row = result.extra["audit"].set_index("system").loc["new"]
    assert row["bias"] == pytest.approx(residuals.mean(), abs=1e-9)
    # Wider than residuals about a map without error.
    assert row["upper"] - row["lower"] > 2 * 1.96 * residuals.std() / np.sqrt(len(residuals))


def test_a_map_is_not_audited_by_the_labels_it_was_fitted_to(october: Path) -> None:
    table = month(5, 90)
    stale = compare(table, replace(BOUND, use=october, day=date(2027, 2, 1)), margin=0.5)
    assert stale.extra["audit"]["audit"].tolist() == ["NOT CHECKED", "NOT CHECKED"]
    assert any("are those it was fitted to, and do not check it" in sentence for sentence in stale.verdict)
    other = compare(month(6, 90), replace(BOUND, use=october, day=NOVEMBER), margin=0.5)
    assert other.extra["audit"]["audit"].tolist() == ["PASS", "PASS"]
    assert not other.extra["map"]["same_labels"].any()


@pytest.mark.parametrize(("labelled", "state"), [(0, "NO LABELS"), (120, "BORROWED")])
def test_a_stale_map_lends_a_level_only_where_labels_confirm_it(
    october: Path, labelled: int, state: str
) -> None:
    table = month(4, labelled)
    table["ann"] = table["ann"].mask(table["system"] == "new")
    maps = replace(BOUND, use=october, day=date(2027, 2, 1))
    result = compare(table, maps, margin=0.2)
    assert result.extra["map"]["state"].tolist() == ["STALE"]
    assert result.extra["labels"].set_index("system").loc["new", "state"] == state
    assert any("104 days old and stale" in sentence for sentence in result.verdict)
    fresh = compare(table, replace(maps, stale_after=120), margin=0.2)
    assert fresh.extra["map"]["state"].tolist() == ["FRESH"]


def test_scores_beyond_those_of_the_map_get_no_level(tmp_path: Path) -> None:
    first = month(5, 90)
    low = first.assign(ann=first["ann"].mask(first["score"] > first["score"].median()))
    path = tmp_path / "low.json"
    with pytest.raises(InputError, match="contain no labels"):
        compare(low.assign(ann=np.nan), replace(BOUND, save=path))
    with pytest.raises(InputError, match="needs labels and scores of 10 prompts, and 5 prompts have both"):
        compare(month(5, 5), replace(BOUND, save=path))
    compare(low, replace(BOUND, save=path))
    result = compare(month(2, 0), replace(BOUND, use=path, day=NOVEMBER), human=())
    reasons = result.extra["labels"]["reason"]
    assert reasons.str.contains("are scored beyond the map").all()
    assert not result.frame["name"].str.startswith("borrowed").any()


def _edited(change: Callable[[dict[str, Any]], Any], with_hash: bool = True) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps({**content, "sha256": hash_of(content)} if with_hash else content))

    return edit


@pytest.mark.parametrize(
    ("maps", "edit", "part"),
    [
        ({"version": "v2"}, None, "a map of the judge 'v1', and these answers were scored by 'v2'"),
        ({"prompt": "ab" * 32}, None, "a judge with another prompt (SHA-256 of none, now abababababab)"),
        ({"day": date(2026, 10, 1)}, None, "was fitted 19 days after these answers were scored"),
        ({}, _edited(lambda content: content.update(labels=9), with_hash=False), "was changed after it"),
        ({}, _edited(lambda content: content.update(version=7)), "has version 7 of the format"),
        ({}, _edited(lambda content: content.update(format="x")), "is no map of a judge's scores"),
        ({}, _edited(lambda content: content.pop("maps")), "lacks a part of a map"),
        ({}, _edited(lambda content: content.update(measure="rate", positive="ok")), "the share of 'ok'"),
        ({}, _edited(lambda content: content["maps"][0].update(judge="grade")), "is a map of 'grade'"),
        (
            {},
            _edited(lambda content: content["judged"].update(relabel={"1": "5"})),
            "'1' means 5, and here it",
        ),
    ],
)
def test_a_map_is_refused_for_another_judge_prompt_quantity_or_day_and_when_changed(
    october: Path, tmp_path: Path, maps: dict[str, Any], edit: Callable[[Path], None] | None, part: str
) -> None:
    path = Path(copy(october, tmp_path))
    if edit is not None:
        edit(path)
    with pytest.raises(InputError) as refusal:
        compare(month(2, 0, prompts=40), replace(BOUND, use=path, **{"day": NOVEMBER, **maps}), human=())
    assert part in str(refusal.value)


WORDS = {"low": "1", "middle": "2", "high": "3"}


@pytest.mark.parametrize(
    ("then", "now", "part"),
    [
        ({"relabel": WORDS}, {"relabel": {**WORDS, "low": "3", "high": "1"}}, "'low' means 1, and here it"),
        ({"relabel": WORDS}, {"relabel": {"Low": "1.0", "middle": "2", "high": "3"}}, None),
        ({"relabel": {"middle": "low"}, "positive": "high"}, {"positive": "high"}, "'middle' means low"),
        ({"exclude": {"score": "middle"}, "positive": "high"}, {"positive": "high"}, "gives 'middle', too"),
        ({"levels": ["low", "middle", "high"], "positive": "high"}, {"positive": "high"}, None),
    ],
)  # fmt: skip
def test_a_map_of_labels_is_not_used_where_they_mean_others(
    tmp_path: Path, then: dict[str, Any], now: dict[str, Any], part: str | None
) -> None:
    rng = np.random.default_rng(1)
    grade = rng.integers(0, 3, 160)
    texts = np.array(list(WORDS), dtype=object)
    table = pd.DataFrame(
        {"prompt": np.tile(range(80), 2), "system": np.repeat(["old", "new"], 80), "score": texts[grade]}
    ).assign(ann=np.where(rng.random(160) < 0.5, texts[grade], None))
    path = tmp_path / "words.json"
    conjury.compare_systems(table, "score", "ann", id="prompt", maps=replace(BOUND, save=path), **then)
    later = replace(BOUND, use=path, day=NOVEMBER)
    if part is None:
        assert len(
            conjury.compare_systems(table, "score", "ann", id="prompt", maps=later, **now).extra["map"]
        )
        return
    with pytest.raises(InputError) as refusal:
        conjury.compare_systems(table, "score", "ann", id="prompt", maps=later, **now)
    assert part in str(refusal.value)


@pytest.mark.parametrize(("options", "part"), cases(__file__, "maps_that_lack"))
def test_a_map_without_what_binds_it_is_refused(options: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError, match=part):
        MapRequest(**options)


@pytest.mark.parametrize("name", ["judge_version", "grader model", "JUDGE-PROMPT-VERSION"])
def test_scores_of_two_versions_of_a_judge_are_refused(name: str) -> None:
    table = month(5, 12, prompts=30)
    table[name] = np.where(table["prompt"] < 15, "v1", "v2")
    with pytest.raises(InputError, match=rf"column '{name}' has 2 values .* choose one with --where"):
        compare(table, BOUND)
    assert len(compare(table[table[name] == "v2"], BOUND).frame)


def test_the_version_of_the_judge_may_be_a_column(tmp_path: Path) -> None:
    path = tmp_path / "october.json"
    compare(
        month(5, 20, prompts=40).assign(judge_version="v1"),
        replace(BOUND, version="judge_version", save=path),
    )
    assert json.loads(path.read_text(encoding="utf-8"))["judge"]["version"] == "v1"
