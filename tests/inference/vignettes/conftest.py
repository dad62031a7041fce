"""A typesetter for all tests of pictures."""

from __future__ import annotations

import pytest

from conjury.inference.vignettes import Fonts, Typesetter


@pytest.fixture(scope="session")
def typesetter(fonts: Fonts) -> Typesetter:
    return Typesetter(fonts)
