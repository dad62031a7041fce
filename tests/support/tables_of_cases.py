"""Cases of a test in a YAML file beside it, one case a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def cases_of(test_file: str, name: str) -> list[Any]:
    """The cases under a name in the file that is called like the test file."""
    cases: dict[str, list[Any]] = yaml.safe_load(Path(test_file).with_suffix(".yaml").read_text("utf-8"))
    return cases[name]
