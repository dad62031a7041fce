"""What browsers state of their device and of times; stored as far as it can be true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WIDEST = 100_000  # pixels of a screen
MOST_LOST = 1_000_000  # a page can send any number
LONGEST_MS = 30 * 24 * 3_600_000.0  # 30 days: longer durations cannot be true
DEVICES = ("phone", "tablet", "computer")


@dataclass(frozen=True)
class Timing:
    """What the browser measured on one page, by its monotonic clock.

    Parameters
    ----------
    response_ms : float or None
        From the moment the page was complete, pictures included, to the submission.
    focus_lost : int
        How often the page lost the focus.
    focus_lost_ms : float
        For how long in all.
    first_input_ms : float or None
        From complete to the first key or click.

    Examples
    --------
    >>> Timing(response_ms=5_200.0, focus_lost=1, focus_lost_ms=900.0).focus_lost
    1
    """

    response_ms: float | None = None
    focus_lost: int = 0
    focus_lost_ms: float = 0.0
    first_input_ms: float | None = None


def measured(timing: Timing | None) -> dict[str, Any]:
    """Measurements that can be true: finite, and none below zero."""
    times = timing or Timing()
    focus_lost_ms = _duration(times.focus_lost_ms)
    return {
        "response_ms": _duration(times.response_ms),
        "first_input_ms": _duration(times.first_input_ms),
        "focus_lost": min(max(times.focus_lost, 0), MOST_LOST),
        "focus_lost_ms": 0.0 if focus_lost_ms is None else focus_lost_ms,
    }


def _duration(ms: float | None) -> float | None:
    return float(ms) if ms is not None and 0 <= ms <= LONGEST_MS else None


def device_of(device: Mapping[str, str]) -> dict[str, Any]:
    """What a browser states of its device; missing where it is no such thing."""
    kind, touch = device.get("device"), device.get("touch")
    return {
        "device": kind if kind in DEVICES else None,
        "width": _pixels(device.get("width")),
        "height": _pixels(device.get("height")),
        "touch": None if touch not in ("yes", "no") else touch == "yes",
    }


def is_large_enough(device: Mapping[str, str], width: int, height: int) -> bool:
    """Whether a screen has at least so many pixels; False where its size is unknown."""
    sides = [_pixels(device.get(name)) or 0 for name in ("screen_width", "screen_height")]
    return sides[0] >= width and sides[1] >= height


def _pixels(text: str | None) -> int | None:
    number = int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 7 else 0
    return number if 0 < number <= WIDEST else None
