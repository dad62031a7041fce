"""A made-up conjoint in DuckDB, and the comparison of estimates with those of rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from conjury.analysis.conjoint.estimates import Estimates

F = "y ~ a + b + c"


def made(n: int = 3_000, seed: int = 1) -> pd.DataFrame:
    """Profiles of respondents and texts, with missing outcomes, features and groups."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "a": rng.choice(["x", "y", "z"], n),
            "b": rng.choice(["it's", 'a "b"'], n),
            "c": rng.random(n) < 0.4,
            "g": rng.choice(["m", "f"], n),
            "respondent": rng.integers(0, 150, n),
            "text": rng.choice([f"t{k}" for k in range(40)], n),
            "w": rng.choice([0.0, 0.5, 1.0, 2.3], n),
        }
    )
    data["y"] = (rng.random(n) < 0.4 + 0.1 * (data["a"] == "y")).astype(float)
    data.loc[rng.random(n) < 0.05, "y"] = np.nan
    data.loc[rng.random(n) < 0.02, ["a", "g"]] = None
    data["score"] = data["y"] + rng.normal(size=n)
    return data


def in_duckdb(data: pd.DataFrame) -> Any:
    import ibis

    return ibis.memtable(pa.Table.from_pandas(data, preserve_index=False))


def same(found: Estimates, expected: Estimates, tolerance: float = 1e-10) -> None:
    pd.testing.assert_frame_equal(
        found.frame, expected.frame, rtol=tolerance, atol=1e-12, check_categorical=False, check_dtype=False
    )
    if expected.vcov is not None and found.vcov is not None:
        np.testing.assert_allclose(found.vcov, expected.vcov, rtol=tolerance, atol=1e-14)
    settings = dict(found.settings)
    settings.pop("computed_from", None)
    assert settings == dict(expected.settings)
