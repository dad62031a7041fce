"""Colours as layout files write them."""

from __future__ import annotations

RGB = tuple[int, int, int]


def parse_colour(code: str) -> RGB:
    """Return the red, green and blue (0 to 255) of a colour such as '#1d9bf0'.

    Raises
    ------
    ValueError
        It is not # and six hexadecimal digits.

    Examples
    --------
    >>> parse_colour("#1d9bf0")
    (29, 155, 240)
    """
    digits = code.removeprefix("#")
    if len(code) != 7 or len(digits) != 6 or not set(digits.lower()) <= set("0123456789abcdef"):
        raise ValueError(f"'{code}' is not a colour; write # and six hexadecimal digits, such as '#1d9bf0'.")
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
