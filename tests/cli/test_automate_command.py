"""``conjury automate``: the rows that it writes can be read by it again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Run = Callable[..., Any]


def test_a_file_that_the_command_wrote_gets_its_columns_anew(tmp_path: Path, conjury: Run) -> None:
    sure = np.arange(200) / 200
    label = np.where(np.arange(200) % 2, "pass", "fail")
    table = pd.DataFrame({"verdict": label, "sure": sure, "person": label})
    table.to_csv(tmp_path / "first.csv", index=False)
    options = "--judge verdict --human person --certainty sure --error 0.1"
    for source, target in (("first", "second"), ("second", "third")):
        ended = conjury(f"automate {source}.csv {options} --out {target}.csv", cwd=tmp_path)
        assert ended.code == 0, ended.err
    second, third = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("second", "third"))
    assert list(second) == [*table, "person_needed_0.1"]
    pd.testing.assert_frame_equal(second, third)
    ended = conjury(f"automate first.csv {options} --labelled by=model", cwd=tmp_path)
    assert ended.code == 2
    assert "all 200 labels of 'person' were written by a model" in " ".join(ended.err.split())
