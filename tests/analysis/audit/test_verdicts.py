"""Verdicts on published numbers: what they are, under which definitions, and which numbers are nearest."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases
from published_numbers import findings


@pytest.mark.parametrize("case", cases(__file__, "verdicts"), ids=str)
def test_published_numbers_have_the_verdict_that_their_definitions_allow(case: dict[str, Any]) -> None:
    listed = findings(case["check"], case["numbers"], case.get("percent", False), **case.get("settings", {}))
    found = listed[case.get("of", 0)]
    assert (found.check, found.verdict) == (case["check"], case["verdict"]), found
    assert list(found.under) == case.get("under", list(found.under))
    assert "among" not in case or any(case["among"] in one for one in found.under)
    assert case.get("nearest", "") in found.nearest
    assert case.get("reason", "") in found.reason
    assert len(listed) == case.get("n", len(listed))
    assert found.n_definitions == case.get("definitions", found.n_definitions)
    assert found.chance == case.get("chance", found.chance)
    assert "unlikely" not in case or (found.chance is not None and found.chance < case["unlikely"])
