"""Tables in DuckDB, and the comparison of their estimates with those of rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from conjury.analysis.conjoint.estimates import Estimates

F = "y ~ a + b + c"


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
    # The design effect of weights is computed from rows, which a stored table does not give.
    assert settings == {name: value for name, value in expected.settings.items() if name != "design_effect"}
