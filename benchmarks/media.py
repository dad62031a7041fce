"""Frames of clips: seconds and memory, beside a program that decodes the whole clip into memory first.

Prints a page and writes it to results/MEDIA.md; `--quick` for short clips and no file. Each program
runs in a process of its own; both must give the same pictures at the same moments.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import in_a_process, machine, peak_memory, publish, seconds, table, versions

from conjury.inference.preparation.video import QUALITY, cut_frames, moments, read_clip, sound_track

SIZE = (1280, 720)
RATE = 30  # frames per second of the clip
CUT, MOST, SIDE = 10.0, 64, 512
LENGTHS = (15, 60, 180)
NAIVE_UP_TO = 60  # seconds; three minutes of these pictures would fill 7 GB
SOUND = 48_000
PATTERNS = 32  # pictures of a clip, over and over
CONJURY, NAIVE = "conjury", "all frames first"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short clips, no MEDIA.md")
    parser.add_argument("--measure", nargs=2, metavar=("CONTENDER", "CLIP"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measured(asked.measure[0], Path(asked.measure[1]))))
        return
    described = machine()
    lengths = (2, 6) if asked.quick else LENGTHS
    rows = []
    with TemporaryDirectory() as folder:
        for length in lengths:
            path = write_clip(Path(folder) / f"{length}.mp4", length)
            rows += compared(path, length)
    page = table(["clip", "by", "frames", "seconds", "of a core", "peak memory (MB)", "check"], rows)
    publish("MEDIA", text(described, page), written=not asked.quick)


def compared(path: Path, length: int) -> Iterator[list[str]]:
    """Rows of one clip."""
    ours = child(CONJURY, path)
    size = f"{length} s, {path.stat().st_size / 1e6:.1f} MB"
    yield [size, "conjury", *figures(ours), ""]
    if length <= NAIVE_UP_TO:
        peer = child(NAIVE, path)
        if peer["pictures"] != ours["pictures"]:
            raise SystemExit(f"{path.name}: the two programs do not give the same pictures.")
        yield ["", "all frames into memory first", *figures(peer), "the same pictures"]
    sound = child("sound", path)
    yield ["", "conjury, the sound", *figures(sound), ""]


def figures(found: dict[str, Any]) -> list[str]:
    return [
        str(found["n"] or ""),
        f"{found['seconds']:.2f}",
        f"{found['cpu']:.2f}",
        f"{found['peak'] - found['before']:,.0f}",
    ]


def child(contender: str, path: Path) -> dict[str, Any]:
    return in_a_process([__file__, "--measure", contender, str(path)])


def measured(contender: str, path: Path) -> dict[str, Any]:
    """Time one contender and tell how far memory rose above what the imports hold."""
    import av  # noqa: F401

    pictures: list[str] = []

    def keep(frames: Iterator[bytes]) -> None:
        pictures.extend(hashlib.sha256(frame).hexdigest() for frame in frames)

    makers: dict[str, Callable[[], Any]] = {
        CONJURY: lambda: keep(frame.content for frame in cut_frames(read_clip(path), CUT, MOST, SIDE)),
        NAIVE: lambda: keep(decode_first(path)),
        "sound": lambda: sound_track(read_clip(path)),
    }
    before = peak_memory()
    worked = time.process_time()
    taken = seconds(makers[contender])
    return {
        "seconds": taken,
        "cpu": time.process_time() - worked,
        "before": before,
        "peak": peak_memory(),
        "n": len(pictures),
        "pictures": pictures,
    }


def decode_first(path: Path) -> Iterator[bytes]:
    """Decode a clip, then pick, scale and write its frames."""
    import av
    from av.video.reformatter import Interpolation as How

    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "AUTO"
        frames = list(container.decode(video=0))
    times = [frame.time - frames[0].time for frame in frames]
    length = times[-1] + 1 / RATE
    for moment in moments(length, CUT, MOST):
        frame = frames[int(np.searchsorted(times, moment + 1e-6, side="right")) - 1]
        scale = min(1.0, SIDE / max(frame.width, frame.height))
        image = frame.to_image(
            width=round(frame.width * scale),
            height=round(frame.height * scale),
            interpolation=How.AREA | How.ACCURATE_RND | How.FULL_CHR_H_INT,
        )
        held = io.BytesIO()
        image.save(held, "JPEG", quality=QUALITY)
        yield held.getvalue()


def write_clip(path: Path, length: int) -> Path:
    """Write a clip with a moving pattern, grain, and a tone, as a telephone would have it."""
    import av

    width, height = SIZE
    pictures = [av.VideoFrame.from_ndarray(picture, format="rgb24") for picture in patterns(width, height)]
    pictures = [picture.reformat(format="yuv420p") for picture in pictures]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE, options={"preset": "ultrafast", "crf": "28"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        voice = container.add_stream("aac", rate=SOUND)
        for number in range(length * RATE):
            picture = pictures[number % PATTERNS]
            picture.pts, picture.time_base = number, Fraction(1, RATE)
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
        tone = (8000 * np.sin(2 * np.pi * 440 * np.arange(SOUND * length) / SOUND)).astype(np.int16)[None]
        heard = av.AudioFrame.from_ndarray(tone, format="s16", layout="mono")
        heard.rate = SOUND
        container.mux(chain(voice.encode(heard), voice.encode()))
    return path


def patterns(width: int, height: int) -> Iterator[np.ndarray[Any, np.dtype[np.uint8]]]:
    """Colours that move across the picture, with grain."""
    grain = np.random.default_rng(1).integers(0, 24, (height + PATTERNS, width, 1), dtype=np.uint8)
    across, down = np.meshgrid(np.arange(width), np.arange(height))
    base = np.stack([across % 256, down % 256, (across + down) // 8 % 256], axis=2).astype(np.uint8) // 2
    for number in range(PATTERNS):
        yield np.roll(base, number * 8, axis=1) + grain[number : number + height]


def text(described: str, page: str) -> str:
    named = {name: found for name, found in versions().items() if name in ("conjury", "numpy")}
    named |= {name: version(name) for name in ("av", "pillow")}
    listed = ", ".join(f"{name} {found}" for name, found in named.items())
    return f"""# Benchmarks of clips

Written by `python benchmarks/media.py`. All times are of one run.

- Clips: {SIZE[0]} x {SIZE[1]} pixels, {RATE} frames per second, H.264 and AAC, a moving pattern with grain
- Frames: {CUT:g} per second, {MOST} at most, {SIDE} pixels at the longer side, JPEG
- Of a core: seconds of computing, which a busy machine does not change much
- Memory: the peak above what Python and the imports hold, each in a process of its own
- Machine: {described}
- Versions: {listed}

{page}
Both programs use the same decoder; the difference is what they keep in memory. A clip of more than
{MOST / CUT:g} s is decoded to its end, since its {MOST} frames are spread over all of it: seconds grow with
the length of a clip, memory does not. A second run of a study finds the frames in its ledger and decodes
nothing.
"""


if __name__ == "__main__":
    main()
