"""A study's scales reach the analyses that count ratings nobody gave."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from conjury.analysis.pipeline import items as fit
from conjury.analysis.pipeline.run import FitOptions
from conjury.analysis.raters import Result
from conjury.inference.study import ItemStudy, load_any_study


def test_agreement_is_told_the_scale_of_each_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}

    def instead(*_: Any, **options: Any) -> Result:
        told.update(options)
        return Result(pd.DataFrame(), "agreement")

    monkeypatch.setattr(fit, "agreement", instead)
    study = load_any_study("oogiri")
    assert isinstance(study, ItemStudy)
    table = pd.DataFrame({"judge_id": ["ann"], "judge_kind": "human", "item_id": "a", "value": 1})
    planned = {one.name: one for one in fit.plan_ratings(study, table, None, FitOptions()).steps}
    planned["agreement"].call()
    assert told["scale"] == {scale.id: range(5) for scale in study.scales}
