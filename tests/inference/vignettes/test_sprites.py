from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conjury.inference.vignettes import sprites as sprites_module
from conjury.inference.vignettes.fonts import Fonts
from conjury.inference.vignettes.segments import Piece
from conjury.inference.vignettes.sprites import Sprite, Sprites

ACCOUNTS = st.from_regex(r"@?[a-z_]{1,12}[0-9]{1,5}", fullmatch=True)


def whole(fonts: Fonts, text: str, size: int, weight: int) -> Sprite:
    """The picture of a word shaped in one go."""
    direction = "ltr" if fonts.shaping else None
    return sprites_module._drawn(text, fonts.face(0, size, weight), direction)


@pytest.fixture(scope="module")
def in_parts(fonts: Fonts) -> Sprites:
    return Sprites(fonts)


@settings(max_examples=60, deadline=None)
@given(ACCOUNTS, st.sampled_from([(34, 400), (34, 700), (21, 600)]))
@example("@brad_mueller_1174", (34, 400))
@example("its_cf7", (34, 400))
@example("_1", (34, 700))
@example("f4", (21, 600))
def test_a_word_and_its_number_are_the_pixels_of_both_shaped_in_one_go(
    fonts: Fonts, in_parts: Sprites, account: str, style: tuple[int, int]
) -> None:
    sprite, expected = in_parts.of(Piece(account, 0, 0, False), *style), whole(fonts, account, *style)
    assert sprite.image is not None
    assert expected.image is not None
    assert (sprite.left, sprite.top, sprite.image.size) == (expected.left, expected.top, expected.image.size)
    assert sprite.image.tobytes() == expected.image.tobytes()
    assert sprite.advance == pytest.approx(expected.advance)


def test_accounts_with_other_numbers_are_not_shaped_anew(
    fonts: Fonts, monkeypatch: pytest.MonkeyPatch
) -> None:
    shaped = []
    draw = sprites_module._drawn
    monkeypatch.setattr(sprites_module, "_drawn", lambda *of: (shaped.append(of[0]), draw(*of))[1])
    sprites = Sprites(fonts)
    for number in range(100, 200):
        sprites.of(Piece(f"@rita_{number}", 0, 0, False), 30, 400)
    assert sorted(shaped) == [*"0123456789", "@rita_"]
