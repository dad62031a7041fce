"""The study that tests of steps share."""

from __future__ import annotations

import pytest

from conjury.inference.study import Study, load_study


@pytest.fixture(scope="session")
def study() -> Study:
    return load_study("moderation")
