"""Clips: what they contain, frames at a stated rate, the sound as a track of its own.

The only module that knows PyAV. Frames are decoded, scaled and encoded one at a time, so memory does not grow
with the length of a clip.
"""

from __future__ import annotations

import hashlib
import io
import math
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, MissingDependency

if TYPE_CHECKING:
    from PIL.Image import Image

DEMUXERS = {"video/mp4": "mp4", "video/quicktime": "mov", "video/webm": "matroska"}
LARGEST = 500_000_000  # bytes of one clip that frames are cut from
LONGEST = 600.0  # seconds
PIXELS = 50_000_000  # a small file can unpack to gigabytes
QUALITY = 90  # of JPEG; small print stays readable
SOUND_RATE = 16_000  # samples a second, what speech encoders work with
MICROSECONDS = 1e6  # in which a container states its length, by the second
TINY = 1e-6  # rounding of time stamps


@dataclass(frozen=True, slots=True)
class Clip:
    """A file of video, checked but not decoded."""

    path: Path
    sha256: str  # of its bytes
    mime: str
    size: int  # bytes
    seconds: float  # how long it is shown
    sound: bool  # whether it has an audio track


@dataclass(frozen=True, slots=True)
class VideoFrame:
    """What a clip shows at one moment: seconds from its start, as JPEG."""

    seconds: float
    content: bytes


def read_clip(path: Path) -> Clip:
    """Look into a file of video without decoding it."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise InputError(f"{path}: the clip has {size:,} bytes, more than {LARGEST:,}; make it smaller.")
        with path.open("rb") as file:
            mime = _media_type(file.read(64))
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: the clip cannot be read ({error.strerror}); check the path.") from None
    if not mime:
        raise InputError(f"{path}: this is no video that models take; save it as MP4, MOV or WebM.")
    with _open_clip(path, mime) as container:
        if not container.streams.video:
            raise InputError(f"{path}: the clip has no pictures; an audio file cannot be judged as video.")
        stream = container.streams.video[0]
        pixels = stream.codec_context.width * stream.codec_context.height
        seconds = _length(container, stream, path)
        sound = bool(container.streams.audio)
    if pixels > PIXELS:
        raise InputError(f"{path}: the clip has {pixels:,} pixels, more than {PIXELS:,}; scale it down.")
    if seconds > LONGEST:
        raise InputError(
            f"{path}: the clip lasts {seconds:,.0f} s, more than {LONGEST:,.0f}; cut it shorter."
        )
    return Clip(path, digest, mime, size, seconds, sound)


def moments(seconds: float, rate: float, most: int) -> list[float]:
    """Return the times of frames from the start of a clip, ``rate`` a second or evenly spread if too many."""
    n_frames = max(math.ceil(seconds * rate - TINY), 1)
    if n_frames <= most:
        return [number / rate for number in range(n_frames)]
    return [number * seconds / most for number in range(most)]


def cut_frames(clip: Clip, rate: float, most: int, longest_side: int) -> Iterator[VideoFrame]:
    """Yield what a clip shows at each of its :func:`moments`, turned upright and scaled down, never up."""
    times = iter(moments(clip.seconds, rate, most))
    due = next(times, None)
    with _open_clip(clip.path, clip.mime) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        stream.codec_context.options = {"max_pixels": str(PIXELS)}
        shape = stream.sample_aspect_ratio or stream.codec_context.sample_aspect_ratio
        last_frame: Any = None
        start = 0.0
        for frame in container.decode(stream):
            if frame.time is None:
                continue
            start = frame.time if last_frame is None else start
            if last_frame is not None and due is not None and frame.time - start > due + TINY:
                content = _jpeg(last_frame, float(shape or 1), longest_side)
                while due is not None and frame.time - start > due + TINY:
                    yield VideoFrame(due, content)
                    due = next(times, None)
            if due is None:
                return
            last_frame = frame
        if last_frame is None:
            raise InputError(f"{clip.path}: the clip has no frame that can be decoded; save it anew as MP4.")
        content = _jpeg(last_frame, float(shape or 1), longest_side)
    while due is not None:
        yield VideoFrame(due, content)
        due = next(times, None)


def sound_track(clip: Clip) -> bytes | None:
    """Return the sound of a clip as WAV (16 kHz, mono, 16 bits), None where it has none."""
    buffer, samples = io.BytesIO(), 0
    with _open_clip(clip.path, clip.mime) as container, wave.open(buffer, "wb") as track:
        track.setnchannels(1)
        track.setsampwidth(2)
        track.setframerate(SOUND_RATE)
        if not container.streams.audio:
            return None
        resampler = _import_av().AudioResampler(format="s16", layout="mono", rate=SOUND_RATE)
        for decoded in chain(container.decode(container.streams.audio[0]), [None]):
            for piece in resampler.resample(decoded):
                track.writeframes(piece.to_ndarray().tobytes())
                samples += piece.samples
    return buffer.getvalue() if samples else None


def _media_type(head: bytes) -> str:
    """Return the kind of a file by its first bytes; empty for one that is not accepted."""
    if head[4:8] == b"ftyp":
        return "video/quicktime" if head[8:12] == b"qt  " else "video/mp4"
    return "video/webm" if head.startswith(b"\x1a\x45\xdf\xa3") and b"webm" in head else ""


@contextmanager
def _open_clip(path: Path, mime: str) -> Iterator[Any]:
    """Open a clip by one demuxer, which can name no further file and no address."""
    av = _import_av()
    try:
        with (
            path.open("rb") as file,
            av.open(file, format=DEMUXERS[mime]) as container,
        ):
            yield container
    except (av.FFmpegError, OSError, EOFError, ValueError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(f"{path}: the clip cannot be decoded ({reason}); save it anew as MP4.") from None


def _length(container: Any, stream: Any, path: Path) -> float:
    """Seconds from the first frame to the end of the last, as the file's packets say without decoding."""
    first, end, reached = math.inf, -math.inf, -math.inf
    for packet in container.demux():
        if packet.size and packet.pts is not None:
            begins = float(packet.pts * packet.time_base)
            ends = begins + float((packet.duration or 0) * packet.time_base)
            reached = max(reached, ends)
            if packet.stream is stream:
                first, end = min(first, begins), max(end, ends)
    if first == math.inf:
        raise InputError(f"{path}: the clip has no frames with times; save it anew as MP4.")
    duration = (container.duration or 0) / MICROSECONDS
    if duration > 1.1 * reached + 1:
        raise InputError(
            f"{path}: the clip breaks off after {reached:.1f} of {duration:.1f} s; copy or save it anew."
        )
    return end - first


def _jpeg(frame: Any, shape: float, longest_side: int) -> bytes:
    """Scale a decoded frame, turn it upright and write it as JPEG; ``shape`` is the shape of its pixels."""
    width, height = frame.width * shape, float(frame.height)
    scale = min(1.0, longest_side / max(width, height))
    size = max(round(width * scale), 1), max(round(height * scale), 1)
    modes = _import_av().video.reformatter.Interpolation
    exact = modes.AREA | modes.ACCURATE_RND | modes.FULL_CHR_H_INT  # else colours are off by a few levels
    image: Image = frame.to_image(width=size[0], height=size[1], interpolation=exact)
    if frame.rotation:
        image = image.rotate(frame.rotation, expand=True)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()


def _import_av() -> Any:
    try:
        import av
        import av.video.reformatter
    except ImportError:
        raise MissingDependency(
            "Clips need PyAV, which is not installed; install it with `pip install 'conjury[media]'`."
        ) from None
    return av
