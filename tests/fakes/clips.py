"""Clips whose frames tell their number by their brightness."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CODECS = {".mp4": ("libx264", "aac"), ".mov": ("libx264", "aac"), ".webm": ("libvpx-vp9", "libopus")}
DARK, STEP = 30, 4
PITCH = 440.0


def write_clip(
    path: Path,
    frames: int = 50,
    rate: int = 25,
    size: tuple[int, int] = (96, 64),
    sound: bool = False,
    pixel: Fraction | None = None,
    bright_top: bool = False,
) -> Path:
    """Write a clip whose frame n is grey with the value ``DARK + STEP * n``, and a tone of 440 Hz.

    With ``bright_top`` the upper half of every frame is white and the lower black.
    """
    import av

    pictures, voices = CODECS[path.suffix]
    with av.open(str(path), "w") as container:
        stream = container.add_stream(pictures, rate=rate, options={"crf": "10", "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        if pixel is not None:
            stream.codec_context.sample_aspect_ratio = pixel
        voice = container.add_stream(voices, rate=48_000) if sound else None
        for number in range(frames):
            grey = np.full((size[1], size[0], 3), grey_of(number), np.uint8)
            if bright_top:
                grey[: size[1] // 2], grey[size[1] // 2 :] = 255, 0
            container.mux(stream.encode(av.VideoFrame.from_ndarray(grey, format="rgb24")))
        container.mux(stream.encode())
        if voice is not None:
            times = np.arange(48_000 * frames // rate) / 48_000
            wave = (8000 * np.sin(2 * np.pi * PITCH * times)).astype(np.int16)[None]
            heard = av.AudioFrame.from_ndarray(wave, format="s16", layout="mono")
            heard.rate = 48_000
            container.mux(voice.encode(heard))
            container.mux(voice.encode())
    return path


def grey_of(number: int) -> int:
    """Brightness of a frame; it begins anew after 50."""
    return DARK + STEP * (number % 50)


def number_in(jpeg: bytes) -> int:
    """Tell which frame a picture shows."""
    grey = float(np.asarray(Image.open(io.BytesIO(jpeg)).convert("L")).mean())
    return round((grey - DARK) / STEP)


def write_sound(path: Path) -> Path:
    """Write a file of sound alone."""
    import av

    with av.open(str(path), "w") as container:
        voice: Any = container.add_stream("aac", rate=48_000)
        heard = av.AudioFrame.from_ndarray(np.zeros((1, 48_000), np.int16), format="s16", layout="mono")
        heard.rate = 48_000
        container.mux(voice.encode(heard))
        container.mux(voice.encode())
    return path
