"""The engines cregg and survey against tables that cregg itself made."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from reference_tables import posts
from shared_folder import REPOSITORY

from conjury.analysis import r
from conjury.analysis.conjoint import amce, mm
from conjury.analysis.conjoint.engines import cregg
from conjury.inference.errors import InputError

MAIN = "chosen ~ tone + topic + author + reply"
FITS = {
    "fit_plain": (MAIN, {"id": "respondent"}),
    "fit_restricted": (f"{MAIN} + tone:topic", {"id": "pair_id"}),
    "fit_weights": (MAIN, {"id": "respondent", "weights": "weight"}),
    "fit_quasibinomial": (MAIN, {"id": "respondent", "family": "quasibinomial"}),
}


@pytest.mark.r
@pytest.mark.parametrize("name", FITS)
def test_a_fit_through_the_bridge_equals_the_table_that_r_made_on_its_own(name: str) -> None:
    formula, options = FITS[name]
    fit = r.call("fit_survey", data=posts(), formula=formula, **options)
    made = pd.read_csv(REPOSITORY / "tests" / "fixtures" / "r" / f"{name}.csv")
    assert list(fit["names"]) == made["name"].tolist()
    assert list(fit["aliased"]) == made["aliased"].tolist()
    np.testing.assert_allclose(fit["coef"], made["coef"], rtol=1e-9)
    np.testing.assert_allclose(fit["vcov"], made.filter(like="vcov_"), rtol=1e-9, atol=1e-14)


def rscript(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command, settings = ["Rscript", *arguments], {**os.environ, **environment}
    return subprocess.run(command, cwd=REPOSITORY, env=settings, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.r
def test_the_committed_tables_are_what_r_makes_byte_for_byte() -> None:
    found = rscript(os.path.join("R", "run.R"), "--check")
    if "note: the tables were made with other versions" in found.stdout:
        pytest.skip("other versions of R, its packages or BLAS made the tables")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.r
def test_clusters_of_dropped_rows_are_counted() -> None:
    frame = posts()
    frame.loc[frame["respondent"] <= 50, "chosen"] = np.nan
    fit = amce(frame, "chosen ~ tone", "respondent", engine="survey").frame
    kept = amce(frame[frame["respondent"] > 50], "chosen ~ tone", "respondent", engine="survey").frame
    ratio = (fit["std_error"] / kept["std_error"]).iloc[1:] ** 2
    np.testing.assert_allclose(ratio, (300 / 299) / (250 / 249), rtol=1e-10)


@pytest.mark.r
def test_column_names_of_any_kind_reach_the_model_and_one_cluster_is_an_error_in_r_words() -> None:
    options = {"formula": "chosen ~ tone + topic", "id": "respondent", "weights": "weight"}
    plain = r.call("fit_survey", data=posts(), **options)
    names = {
        "chosen": "if",
        "tone": "the `tone`",
        "topic": "topic\\",
        "respondent": "who?",
        "weight": "größe",
    }
    formula = "`if` ~ `the \\`tone\\`` + `topic\\\\`"
    odd = r.call(
        "fit_survey", data=posts().rename(columns=names), formula=formula, id="who?", weights="größe"
    )
    np.testing.assert_array_equal(odd["vcov"], plain["vcov"])
    with pytest.raises(r.RError, match="only one primary sampling unit"):
        r.call("fit_survey", data=posts().assign(all="same"), formula="chosen ~ tone", id="all")


@pytest.mark.cregg
def test_ordered_features_get_their_effects_from_cregg() -> None:
    frame = posts()
    ordered = frame.assign(tone=frame["tone"].cat.as_ordered())
    expected = cregg.run("amce", frame, "chosen ~ tone + reply")
    pd.testing.assert_frame_equal(cregg.run("amce", ordered, "chosen ~ tone + reply"), expected)
    assert (expected["estimate"] != 0).any()


@pytest.mark.cregg
def test_labels_given_for_some_features_stay_with_them() -> None:
    table = cregg.run("amce", posts(), "chosen ~ tone + topic", feature_labels={"topic": "Thème"})
    assert table["feature"].cat.categories.tolist() == ["tone", "Thème"]
    assert table.loc[table["level"] == "sport", "feature"].tolist() == ["Thème"]


@pytest.mark.cregg
@pytest.mark.filterwarnings("error")
def test_cregg_runs_without_the_warning_about_maximum_likelihood_and_joins_subgroup_columns() -> None:
    assert len(cregg.run("mm", posts(), "chosen ~ tone + topic", id="respondent")) == 6
    table = cregg.run("cj", posts(), "chosen ~ tone", estimate="mm", by=["age", "position"])
    assert set(table["by"]) == {f"{age}***{side}" for age in ("under 40", "over 40") for side in "AB"}
    assert table[["age", "position"]].drop_duplicates().shape == (4, 2)


@pytest.mark.parametrize(("verb", "formula", "options"), cases(__file__, "verbs_and_options"))
def test_options_of_a_verb_reach_cregg(monkeypatch, verb: str, formula: str, options: dict[str, Any]) -> None:
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(cregg.r, "require", lambda name: None)
    monkeypatch.setattr(cregg.r, "call", lambda name, **given: calls.append(given) or pd.DataFrame())
    cregg.run(verb, posts(), formula, **options)
    assert {name: calls[0][name] for name in options} == options


@pytest.mark.parametrize(
    ("estimator", "options", "is_alone", "sent"),
    [
        (amce, {"reference": {"tone": "rude"}}, False, {"verb": "amce", "id": "respondent"}),
        (amce, {"weights": "weight"}, False, {"verb": "amce", "weights": "weight"}),
        (mm, {"h0": 0.0}, True, {"verb": "mm"}),
        (mm, {"h0": 0.4}, True, {"verb": "mm", "h0": 0.4}),
    ],
)
def test_cregg_gets_the_levels_in_order_and_the_record_has_the_rows_that_it_uses(
    monkeypatch, estimator, options: dict[str, Any], is_alone: bool, sent: dict[str, Any]
) -> None:
    calls: list[dict[str, Any]] = []
    table = pd.DataFrame({"feature": ["tone"], "level": ["rude"], "estimate": [0.1], "std.error": [0.02]})
    monkeypatch.setattr(cregg.r, "require", lambda name: None)
    monkeypatch.setattr(cregg.r, "call", lambda name, **given: calls.append(given) or table)
    data = posts().assign(weight=lambda t: t["weight"].where(t["task"] > 1, 0.0))
    data.loc[:9, "tone"] = None
    fit = estimator(data, "chosen ~ tone + author", id="respondent", engine="cregg", **options)
    assert calls[0].items() >= sent.items()
    assert not {"family", "reference", *({"h0"} - {*sent})} & {*calls[0]}
    first = calls[0]["data"]["tone"].cat.categories.tolist()[0]
    assert first == options.get("reference", {"tone": data["tone"].cat.categories[0]})["tone"]
    has_level = data[["tone", "author"]].notna()
    mask = (has_level.any(axis=1) if is_alone else has_level.all(axis=1)) & data["chosen"].notna()
    mask &= data["weight"] > 0 if "weights" in options else True
    assert (fit.provenance.n_rows, fit.provenance.n_used) == (1800, mask.sum())
    assert fit.provenance.n_clusters == data["respondent"].nunique()
    assert fit.frame["std_error"].tolist() == [0.02]


def test_an_option_that_a_verb_would_ignore_is_refused() -> None:
    with pytest.raises(InputError, match="mm takes no 'family'"):
        cregg.run("mm", posts(), "chosen ~ tone", family="quasibinomial")
    with pytest.raises(InputError, match="no verb 'amces'"):
        cregg.run("amces", posts(), "chosen ~ tone")
