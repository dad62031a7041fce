"""A typesetter for all tests of pictures."""

from __future__ import annotations

import pytest

from conjury.inference.vignettes.fonts import Fonts
from conjury.inference.vignettes.typesetting import Typesetter


@pytest.fixture(scope="session")
def typesetter(fonts: Fonts) -> Typesetter:
    return Typesetter(fonts)
