"""Requests to analyses of benchmarks that cannot be are refused in one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cases import refused
from made_up.labels import answers_of_judges, scored_answers

from conjury.analysis import benchmark
from conjury.inference.errors import InputError


@pytest.mark.parametrize(("verb", "options", "says"), refused(__file__))
def test_what_cannot_be_is_refused_in_one_sentence(verb: str, options: dict[str, Any], says: str) -> None:
    scored = scored_answers(answers_of_judges(12, 2, 6))
    scored = replace(scored, frame=scored.frame.assign(region=None))
    usual = {"draws": 50} if verb == "differences" else {}
    with pytest.raises(InputError, match=says):
        getattr(benchmark, verb)(scored, **{**usual, **options})
