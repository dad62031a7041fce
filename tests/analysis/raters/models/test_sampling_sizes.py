"""`conjury raters --draws --tune` reaches the model that is fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import conjury.analysis.raters as raters
from conjury.cli.main import main
from conjury.inference.errors import InputError


@pytest.mark.parametrize(
    ("model", "verb"),
    [("ordinal", "rater_model"), ("dimensions", "dimension_model"), ("labels", "label_model")],
)
@pytest.mark.parametrize("sizes", [{}, {"draws": 7, "tune": 9, "chains": 3}])
def test_models_are_given_the_draws_and_tuning_that_are_asked_for_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, verb: str, sizes: dict[str, int]
) -> None:
    asked: dict[str, Any] = {}

    def fit(judgments: pd.DataFrame, **options: Any) -> None:
        asked.update(options)
        raise InputError("Nothing is fitted.")

    monkeypatch.setattr(raters, verb, fit)
    table = pd.DataFrame(
        [
            (judge, kind, f"i{item}", dimension, float(item % 3))
            for judge, kind in (("ann", "human"), ("bob", "human"), ("gpt", "model"))
            for item in range(6)
            for dimension in ("wit", "tact")
        ],
        columns=["judge_id", "judge_kind", "item_id", "dimension", "value"],
    )
    table.to_parquet(tmp_path / "judgments.parquet")
    given = [word for name, size in sizes.items() for word in (f"--{name}", str(size))]
    named = [] if model == "dimensions" else ["--dimension", "wit"]
    words = ["raters", "judgments.parquet", "--model", model, *named, *given]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["conjury", *words])
    with pytest.raises(SystemExit):
        main()
    assert {name: asked[name] for name in ("draws", "tune", "chains") if name in asked} == sizes
