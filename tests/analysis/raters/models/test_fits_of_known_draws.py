"""Tables of the models, made from given draws of their parameters: each number is the stored one.

Whether draws come from the posterior, and whether tables mean what they say, is tested with PyMC (``make
test-bayes``); here every change of a number is noticed. ``CONJURY_SNAPSHOTS=write`` stores them anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge
from uncompiled import uncompile

from conjury.analysis.raters import ModelFit, dimension_model, label_model, rater_model
from conjury.analysis.raters.models.labels import label_model as labels
from conjury.analysis.raters.models.labels.panel_labels import read_labels
from conjury.analysis.raters.models.ordinal import rater_model as ordinal
from conjury.analysis.raters.models.ordinal.ordinal_draws import coordinates, dimensions

xarray = pytest.importorskip("xarray", reason="xarray is not installed (the extra bayes)")
pytest.importorskip("numba", reason="numba is not installed (the extra bayes)")

STORED = Path(__file__).parents[3] / "fixtures" / "raters" / "fits_of_known_draws.json"
CHAINS, DRAWS = 2, 12
UNSTABLE = ("ess_bulk", "ess_tail")  # of ArviZ, whose versions differ


def digest(column: pd.Series[Any]) -> float:
    """A number to which each row contributes differently; of texts, a checksum."""
    if pd.api.types.is_numeric_dtype(column):
        return float(np.nansum(np.cos(np.arange(len(column))) * column.to_numpy(dtype=float)))
    return float(crc32("|".join(column.astype("string").fillna("")).encode()))


def numbers_of(fit: ModelFit) -> dict[str, float]:
    in_notes = pd.DataFrame(
        {"numbers": [float(one) for one in re.findall(r"\d+\.?\d*", " ".join(fit.notes))]}
    )
    tables = {"notes": in_notes, "frame": fit.frame, "diagnostics": fit.diagnostics, **fit.extra}
    return {
        f"{name}: {column}": digest(table[column])
        for name, table in tables.items()
        for column in table
        if column not in UNSTABLE
    }


def judgments(values: tuple[Any, ...], seed: int) -> pd.DataFrame:
    """Four people and two models rate forty items, with gaps; the last person and model less well."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=40)
    answers = {}
    for judge, noise in {"ann": 0.5, "bob": 0.7, "cy": 0.6, "dee": 2.0, "gpt": 0.5, "llama": 1.5}.items():
        code = np.digitize(quality + noise * rng.normal(size=40), np.linspace(-1, 1, len(values) - 1))
        answers[judge] = [values[k] if rng.random() < 0.9 else None for k in code]
    return by_judge(answers)


def tree_of(
    posterior: dict[str, tuple[tuple[str, ...], np.ndarray]], coords: dict[str, Any] | None = None
) -> Any:
    """Draws as a sampler returns them."""
    rng = np.random.default_rng(5)
    axes = ("chain", "draw")
    arrays = {name: ((*axes, *dims), values) for name, (dims, values) in posterior.items()}
    made = xarray.Dataset(arrays, coords, attrs={"conjury_sampler": "given", "conjury_seconds": 1.0})
    stats = {
        "energy": (axes, rng.normal(size=(CHAINS, DRAWS))),
        "diverging": (axes, np.zeros((CHAINS, DRAWS))),
    }
    return xarray.DataTree.from_dict({"posterior": made, "sample_stats": xarray.Dataset(stats)})


def fit_of_labels(patch: pytest.MonkeyPatch) -> ModelFit:
    table, rng = judgments(("dull", "odd", "witty"), 1), np.random.default_rng(2)
    data = read_labels(table)

    def normal(*shape: int, mean: float = 0.0) -> np.ndarray:
        return rng.normal(mean, 0.3, (CHAINS, DRAWS, *shape))

    people, units = len(data.person), len(data.units)
    drawn = {
        "prevalence": (("label",), rng.dirichlet([5, 3, 2], (CHAINS, DRAWS))),
        "wrong": (("unit", "wrong_label"), normal(units, 6, mean=-1.5)),
        "spread": (("panel",), np.exp(normal(data.n_panels, mean=-1.0))),
        "careless": (("panel",), rng.beta(2, 8, (CHAINS, DRAWS, data.n_panels))),
        "attention": (("who",), rng.beta(6, 1, (CHAINS, DRAWS, people))),
        "person": (("who", "wrong_label"), normal(people, 6, mean=-1.2)),
    }
    patch.setattr(labels, "sample", lambda *_, **__: tree_of(drawn))
    patch.setattr(labels, "build", lambda *_: None)
    return label_model(table, draws=DRAWS, tune=5, chains=CHAINS, seed=3)


def fit_of_ratings(patch: pytest.MonkeyPatch) -> ModelFit:
    """With models that answer twice, two panels of people, and two covariates of items."""
    table = judgments((0, 1, 2, 3), 4)
    again = table[table["judge_kind"] == "model"].assign(sample=2)
    again["value"] = np.where(np.arange(len(again)) % 4 == 0, 3 - again["value"], again["value"])
    table = pd.concat([table.assign(sample=1), again], ignore_index=True)
    table["panel"] = table["judge_id"].map({"ann": "north", "bob": "north", "cy": "south", "dee": "south"})
    table["type"] = np.where(table["item_id"].str[1:].astype(int) % 3 > 0, "high", "low")
    table["form"] = np.where(table["item_id"].str[1:].astype(int) % 7 > 3, "long", "short")

    def sample(*_: Any, compiled: Callable[[], Any], **__: Any) -> Any:
        density, rng = compiled(), np.random.default_rng(6)
        drawn = [density.prior_draw(rng) for _ in range(CHAINS * DRAWS)]
        shapes = dimensions(density.data)
        posterior = {
            name: (
                shapes.get(name, ()),
                np.stack([one[name] for one in drawn]).reshape(CHAINS, DRAWS, *at.shape),
            )
            for name, at in drawn[0].items()
        }
        return tree_of(posterior, coordinates(density.data))

    patch.setattr(ordinal, "sample", sample)
    patch.setattr(ordinal, "for_nutpie", lambda density: density)
    return rater_model(table, covariates=["type", "form"], draws=DRAWS, tune=5, chains=CHAINS, seed=7)


def fit_of_dimensions(patch: pytest.MonkeyPatch) -> ModelFit:
    """The sampler itself runs, as plain Python."""
    from conjury.analysis.raters.models.dimensions import sweeps

    uncompile(patch, sweeps)
    table = pd.concat([judgments((0, 1, 2), seed).assign(dimension=name) for seed, name in enumerate("abc")])
    items = table[["item_id"]].drop_duplicates()
    items["type"] = np.where(items["item_id"].str[1:].astype(int) % 3 > 0, "high", "low")
    some = table[table["judge_id"] != "llama"]
    some = some.assign(value=some["value"].mask((some["judge_id"] == "gpt") & (some["value"] == 2), 1))
    options = {"main": "b", "covariates": ["type"], "items": items}
    return dimension_model(some, **options, draws=6, tune=2, chains=CHAINS, seed=8)


@pytest.mark.parametrize(
    "fit",
    [
        fit_of_ratings,
        *(pytest.param(fit, marks=pytest.mark.long) for fit in (fit_of_labels, fit_of_dimensions)),
    ],
)
def test_every_number_of_a_fit_is_the_stored_one(
    fit: Callable[[pytest.MonkeyPatch], ModelFit], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, found = fit.__name__, numbers_of(fit(monkeypatch))
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    if os.environ.get("CONJURY_SNAPSHOTS") == "write":
        stored[name] = found
        STORED.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert found == pytest.approx(stored[name], rel=1e-6, abs=1e-9)
