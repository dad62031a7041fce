"""Steps of judges as instruments: which there are, that they run, and what a report shows of them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from made_up.choices import in_both_orders, model_and_people
from made_up.ratings import crossed_ratings

from conjury.analysis.instrument import variance_components
from conjury.analysis.pipeline.fitting import has_facets
from conjury.analysis.pipeline.runner import FitOptions
from conjury.analysis.pipeline.wings.instrument_steps import instrument_steps
from conjury.analysis.results import Result
from conjury.inference.study import Study, load_any_study

OPTIONS = FitOptions(draws=0)


@pytest.mark.long
def test_choices_with_facets_have_steps_that_run(study: Study) -> None:
    steps = {step.name: step for step in instrument_steps((study, in_both_orders()), OPTIONS.drawn)}
    assert list(steps) == [
        "order_effects",
        "specifications",
        "flips",
        "variance_components",
        "decision_study",
    ]
    found = {name: step.call() for name, step in steps.items()}
    assert {result.kind for result in found.values()} == set(steps)
    assert "average of positions" in set(found["order_effects"].extra["effects"]["version"])
    assert set(found["flips"].frame["facet"]) == {"option_order"}
    assert not any(step.required for step in steps.values())


def test_components_are_computed_once_for_both_of_their_steps(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counting(*arguments: Any, **options: Any) -> Result:
        calls.append(1)
        return variance_components(*arguments, **options)

    monkeypatch.setattr("conjury.analysis.pipeline.wings.instrument_steps.variance_components", counting)
    steps = {step.name: step for step in instrument_steps((study, in_both_orders()), OPTIONS.drawn)}
    for name in ("variance_components", "decision_study"):
        assert len(steps[name].call().frame)
    assert len(calls) == 1


def test_choices_without_facets_have_none(study: Study) -> None:
    plain = model_and_people(30, 5, 6)[0]
    assert not has_facets(plain)


def test_ratings_have_the_steps_of_their_main_dimension() -> None:
    study = load_any_study("oogiri")
    ratings = crossed_ratings(20, 2, 1, seed=1).rename(columns={"option_order": "scale_direction"})
    later = ratings.assign(occasion=2)
    both = pd.concat([ratings.assign(occasion=1), later], ignore_index=True)
    other = both.assign(dimension="novelty", value=0.0)
    main = both.assign(dimension=study.main)
    steps = {step.name: step for step in instrument_steps((study, pd.concat([other, main])), OPTIONS.drawn)}
    assert list(steps) == ["flips", "variance_components", "decision_study", "drift"]
    assert steps["variance_components"].call().frame["estimate"].max() > 0.1
    assert steps["drift"].call().frame["estimate"].abs().max() == pytest.approx(0, abs=1e-9)
