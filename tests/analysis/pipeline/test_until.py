"""Expressions of stopping rules, and the widths that they are checked by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from fakes.studies import LABELS, RATINGS, items, towns, write_study

from conjury.analysis.conjoint import amce, sequential
from conjury.analysis.numerics.intervals.confidence_sequences import half_widths
from conjury.analysis.pipeline.until import stopping_rule
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_any_study, load_study


@pytest.fixture(scope="module")
def conjoint(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_study(write_study(tmp_path_factory.mktemp("towns"), towns()))


@pytest.fixture(scope="module")
def choices(conjoint: Any) -> pd.DataFrame:
    made = simulate(conjoint, 3, pairs=600, swapped_share=0.1, judges=["judge"], truth=False)
    return made.choices.assign(probability=np.nan)


@pytest.fixture(scope="module")
def rating_study(tmp_path_factory: pytest.TempPathFactory) -> Any:
    texts = [f"Text {n}." for n in range(200)]
    return load_any_study(write_study(tmp_path_factory.mktemp("posts"), items(RATINGS), texts))


def ratings(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"item_id": [f"post_{k}" for k in range(n)]})
    parts = [
        table.assign(dimension="threat", value=rng.integers(0, 5, n)),
        table.assign(dimension="hate", value=rng.integers(1, 8, n)),
    ]
    return pd.concat(parts).assign(
        judge_id="judge", judge_kind="model", prompt_id="plain", sample=1, status="ok"
    )


def width(rule: Any, *tables: Any) -> float:
    met, text = rule(*tables)
    assert not met
    return float(text.split(" is ")[1].split(" ")[0])


def test_the_width_is_that_of_the_sequence_under_the_prompt_with_the_widest(conjoint, choices):
    rule = stopping_rule(conjoint, "ci(size=large) < 0.001")
    found = []
    for prompt in ("plain", "strict"):
        rows = choices[(choices["prompt_id"] == prompt) & ~choices["repeat"]]
        path = sequential(amce, rows, "chosen ~ size + place", id="pair_id", looks=[600], target=2_000).frame
        row = path[(path["feature"] == "size") & (path["level"] == "large")].iloc[0]
        found.append(row["upper"] - row["lower"])
    assert width(rule, pd.DataFrame(), choices, 2_000) == pytest.approx(max(found), abs=5e-4)
    one = choices[choices["prompt_id"] == "plain"]
    assert width(rule, pd.DataFrame(), one, 2_000) == pytest.approx(found[0], abs=5e-4)


def test_refused_answers_count_as_the_study_states(tmp_path, choices):
    content = towns() | {"refusal": "not_chosen"}
    study = load_study(write_study(tmp_path, content))
    refused = choices["pair_id"].isin(choices["pair_id"].unique()[:300]).to_numpy()
    status = choices["status"].mask(refused, "refused")
    given = choices.assign(chosen=choices["chosen"].mask(refused), status=status)
    excluded = load_study(write_study(tmp_path / "missing", towns()))
    widths = [
        width(stopping_rule(one, "ci(size) < 0.001"), pd.DataFrame(), given, 600) for one in (study, excluded)
    ]
    assert widths[0] < 0.9 * widths[1]


@pytest.mark.long
def test_all_conditions_have_to_be_met_and_few_tasks_or_no_answers_are_never_enough(conjoint, choices):
    met, text = stopping_rule(conjoint, "ci(size) < 2 and ci(place) < 2")(pd.DataFrame(), choices, 600)
    assert (met, text.count("(wanted: < 2)")) == (True, 2)
    assert not stopping_rule(conjoint, "ci(size) < 2 and ci(place) < 0.01")(pd.DataFrame(), choices, 600)[0]
    rule = stopping_rule(conjoint, "ci(size) < 100")
    few = choices[choices["pair_id"].isin(choices["pair_id"].unique()[:80])]
    assert rule(pd.DataFrame(), few, 600) == (False, "ci(size) is unbounded (wanted: < 100)")
    silent = choices.assign(chosen=pd.array([pd.NA] * len(choices), dtype="Int8"))
    for table in (silent, choices[choices["size"].astype(str) == "small"]):
        assert not rule(pd.DataFrame(), table, 600)[0]


@pytest.mark.long
def test_means_of_ratings_have_the_width_of_their_sequence(rating_study):
    table = ratings(150)
    values = table.loc[table["dimension"] == "hate", "value"].to_numpy(float)
    expected = 2 * half_widths(values.var(), 150, 0.05, 200)
    assert width(stopping_rule(rating_study, "ci(hate) < 0.01"), table, None, 200) == pytest.approx(
        float(expected), rel=0.1
    )
    both = width(stopping_rule(rating_study, "ci(mean) < 0.01"), table, None, 200)
    assert both == pytest.approx(float(expected), rel=0.1)
    assert stopping_rule(rating_study, "ci(threat) < 3 and ci(mean) < 4")(table, None, 200)[0]
    assert not stopping_rule(rating_study, "ci(mean) < 9")(ratings(60), None, 200)[0]


@pytest.mark.parametrize(("text", "said"), cases(__file__, "bad_expressions_name_what_is_possible"))
def test_bad_expressions_name_what_is_possible(conjoint, text, said):
    with pytest.raises(InputError, match=said):
        stopping_rule(conjoint, text)


def test_bad_names_of_ratings_and_studies_without_intervals_are_refused(rating_study, tmp_path: Path):
    with pytest.raises(InputError, match="name one of mean, threat, hate"):
        stopping_rule(rating_study, "ci(size) < 0.1")
    with pytest.raises(InputError, match=r"write ci\(hate\)"):
        stopping_rule(rating_study, "ci(hate=1) < 0.1")
    labels = write_study(tmp_path, items({"form": "label", "labels": LABELS}))
    with pytest.raises(InputError, match="needs ratings or choices between pairs"):
        stopping_rule(load_any_study(labels), "ci(mean) < 0.1")
