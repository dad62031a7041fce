"""The engines cregg and survey against tables that cregg itself made."""

from __future__ import annotations

import golden
import numpy as np
import pandas as pd
import pytest

from conjury.analysis import r
from conjury.analysis.conjoint.engines import cregg, survey
from conjury.inference.errors import InputError

STATUS = r.available()

needs_survey = pytest.mark.skipif(
    STATUS.packages.get("survey") is None, reason="needs R with the package survey"
)
needs_cregg = pytest.mark.skipif(STATUS.packages.get("cregg") is None, reason="needs R with the package cregg")
needs_golden = pytest.mark.skipif(not golden.AVAILABLE, reason="the reference tables are not on this machine")


@pytest.mark.cregg
@pytest.mark.shared
@needs_cregg
@needs_golden
@pytest.mark.parametrize("name", golden.NAMES)
def test_cregg_engine_reproduces_the_table_that_cregg_made(name: str) -> None:
    verb, data, formula, options, expected = golden.golden_call(name)
    golden.assert_matches(cregg.run(verb, data, formula, **options), expected)
