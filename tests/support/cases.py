"""Cases of parametrised tests, one a line, in the YAML file beside the tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def cases(test_file: str, table: str) -> list[Any]:
    """Return the rows of a table in the file that is named as the test file and ends in .yaml."""
    return list(_tables(Path(test_file).with_suffix(".yaml"))[table])


@cache
def _tables(path: Path) -> dict[str, list[Any]]:
    return dict(yaml.load(path.read_text(encoding="utf-8"), LOADER))
