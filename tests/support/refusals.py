"""Requests that are refused: one per line of ``refused.yaml`` beside a test, below the name of a verb."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml


def refused(test: str) -> list[Any]:
    """Parameters ``name, options, says`` of each line, where ``says`` is a pattern of the refusal."""
    lines = yaml.safe_load((Path(test).parent / "refused.yaml").read_text(encoding="utf-8"))
    return [
        pytest.param(name, options, says, id=f"{name}: {says}")
        for name, requests in lines.items()
        for options in requests
        for says in [options.pop("says")]
    ]
