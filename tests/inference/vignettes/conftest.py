"""Fonts and a typesetter for all tests of pictures, or the reason why there are none."""

from __future__ import annotations

import pytest

from conjury.inference.errors import MissingDependency
from conjury.inference.vignettes.fonts import Fonts
from conjury.inference.vignettes.typesetting import Typesetter


@pytest.fixture(scope="session")
def fonts() -> Fonts:
    try:
        found = Fonts.find()
    except MissingDependency as missing:
        pytest.skip(str(missing))
    if not found.shaping:
        pytest.skip("libfribidi is not installed")
    if found.emoji is None:
        pytest.skip("no font with colour emoji")
    return found


@pytest.fixture(scope="session")
def typesetter(fonts: Fonts) -> Typesetter:
    return Typesetter(fonts)
