"""The study that checks of designs and answers share."""

from __future__ import annotations

import pytest

from conjury.inference.study import Study, load_study


@pytest.fixture(scope="session")
def study() -> Study:
    return load_study("moderation")
