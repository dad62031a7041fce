"""Images, clips and sound of requests: named by their content, sent inside them or by allowed addresses."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..design.subjects import PresentedSubject
from ..errors import InputError, listed
from ..ledger import Ledger
from ..ledger.exchanges import MEDIA
from ..preparation.video import Clip, cut_frames, read_clip, sound_track
from ..study.asking import Collecting, Video
from ..study.asking import Medium as Kind
from ..tables.limits import parse_json
from ..tables.writing import atomic_write

FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
LARGEST = 20_000_000  # bytes of one image; the limit of the strictest of the common providers
PIXELS = 50_000_000  # a small file can unpack to gigabytes


@dataclass(frozen=True, slots=True)
class Medium:
    """An image file: the SHA-256 of its bytes, its media type and the bytes."""

    sha256: str
    mime: str
    content: bytes


def find_medium(name: str, folder: Path, what: str) -> Path:
    """Return the path of a file (an image, a clip) that a table names by its path inside ``folder``."""
    path = (folder / name.replace("\0", "")).resolve()
    if "\0" in name or Path(name).is_absolute() or not path.is_relative_to(folder.resolve()):
        raise InputError(
            f"{name}: this {what} lies outside {folder}; move it there and give its path inside."
        )
    return path


def read_medium(name: str, folder: Path) -> Medium:
    """Read an image that a table names by its path inside ``folder``."""
    path = find_medium(name, folder, "image")
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise InputError(f"{path}: the image has {size:,} bytes, more than {LARGEST:,}; make it smaller.")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the image cannot be read ({error.strerror}); check the path.") from None
    return Medium(hashlib.sha256(content).hexdigest(), _media_type(content, path), content)


def check_address(address: str, hosts: Collection[str]) -> str:
    """Return the address of an image or a clip if it is https and its host is among ``hosts``."""
    try:
        parts = urlsplit(address)
        good = parts.scheme == "https" and parts.hostname in hosts and "@" not in parts.netloc
    except ValueError:  # such as a bracket that is not closed
        good = False
    if not good:
        allowed = listed(hosts) or "none"
        raise InputError(
            f"{address.split('?')[0]}: images and clips come from https addresses of the hosts that the "
            f"study file lists under collect, media_hosts ({allowed}); add the host there or give a file."
        )
    return address


def _media_type(content: bytes, path: Path) -> str:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as image:
            kind, pixels = image.format or "", image.width * image.height
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError):
        raise InputError(f"{path}: this is no image that can be read; save it as PNG or JPEG.") from None
    if kind not in FORMATS:
        raise InputError(f"{path}: models do not take {kind}; save the image as {listed(FORMATS)}.")
    if pixels > PIXELS:
        raise InputError(f"{path}: the image has {pixels:,} pixels, more than {PIXELS:,}; scale it down.")
    return FORMATS[kind]


Part = dict[str, Any]
Cut = dict[str, Any]
FRAME, WAV = "image/jpeg", "audio/wav"


class MediaParts:
    """Turns what a subject shows into parts of a message, as the judge takes them."""

    # Frames and sound are cut once per clip and settings: hashes are in the folder `cuts` of the run, bytes
    # in its ledger.

    def __init__(self, folder: Path, collect: Collecting, ledger: Ledger | None, cuts: Path) -> None:
        self._folder, self._hosts, self._video = folder, collect.media_hosts, collect.video or Video()
        self._ledger, self._cuts = ledger, cuts
        self._known: dict[tuple[str, str, tuple[str, ...]], tuple[str, list[Part]]] = {}

    def __call__(self, stimulus: PresentedSubject, takes: Collection[Kind]) -> list[Part]:
        """Return the parts that show one image or clip, after words that say what follows."""
        media = str(stimulus.media)
        key = (media, stimulus.kind, tuple(takes))
        if key not in self._known:
            make = self._clip if stimulus.kind == "video" else self._image
            self._known[key] = make(media, takes)
        words, parts = self._known[key]
        noun, _, tail = words.partition(",")
        text = f"{noun} {stimulus.position}".strip() + (f",{tail}" if tail else "")
        return [{"type": "text", "text": text}, *parts]

    def _image(self, media: str, takes: Collection[Kind]) -> tuple[str, list[Part]]:
        if "image" not in takes:
            raise _medium_error(media, "images", takes)
        if "://" in media:
            return "Image", [_part("image_url", check_address(media, self._hosts))]
        medium = read_medium(media, self._folder)
        return "Image", [_part("image_url", self._store(medium.content, medium.mime))]

    def _clip(self, media: str, takes: Collection[Kind]) -> tuple[str, list[Part]]:
        if not {"video", "image"} & set(takes):
            raise _medium_error(media, "clips or their frames", takes)
        if "://" in media:
            return self._clip_at(check_address(media, self._hosts), takes)
        clip = read_clip(find_medium(media, self._folder, "clip"))
        words, parts = self._whole(clip) if "video" in takes else self._frames(clip)
        if "audio" in takes and self._video.audio == "if_taken" and clip.sound:
            parts = [*parts, *self._sound(clip)]
        return words, parts

    def _clip_at(self, address: str, takes: Collection[Kind]) -> tuple[str, list[Part]]:
        if "video" not in takes:
            raise InputError(
                f"{address.split('?')[0]}: frames are cut from files, and no clip is fetched; put it "
                "into the folder of the study and give its path."
            )
        return "Video", [_part("video_url", address)]

    def _whole(self, clip: Clip) -> tuple[str, list[Part]]:
        if clip.size > LARGEST:
            raise InputError(
                f"{clip.path}: the clip has {clip.size:,} bytes, and no more than {LARGEST:,} are sent "
                "whole; make it smaller, or let the judge take its frames (takes: [image])."
            )
        stored = self._store(clip.path.read_bytes(), clip.mime)
        return "Video", [_part("video_url", stored)]

    def _frames(self, clip: Clip) -> tuple[str, list[Part]]:
        video = self._video
        settings = (video.frames_per_second, video.most_frames, video.longest_side)

        def cut() -> Cut:
            frames = [
                {"seconds": round(frame.seconds, 3), "media": self._store(frame.content, FRAME)}
                for frame in cut_frames(clip, *settings)
            ]
            return {"clip": clip.sha256, "length": clip.seconds, "frames": frames}

        frames = self._kept(f"{clip.sha256}-{'-'.join(f'{value:g}' for value in settings)}", cut)["frames"]
        step = frames[1]["seconds"] - frames[0]["seconds"] if len(frames) > 1 else 0.0
        every = f", one every {step:.2f} seconds" if step else ""
        description = f"{len(frames)} frame{'s' * (len(frames) > 1)}{every}"
        words = f"Video, {clip.seconds:.1f} seconds long, shown as {description}"
        return words, [_part("image_url", frame["media"]) for frame in frames]

    def _sound(self, clip: Clip) -> list[Part]:
        def cut() -> Cut:
            track = sound_track(clip)
            return {"clip": clip.sha256, "sound": None if track is None else self._store(track, WAV)}

        sound = self._kept(f"{clip.sha256}-sound", cut)["sound"]
        if sound is None:
            return []
        heard = {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}}
        return [{"type": "text", "text": "Sound of the video"}, heard]

    def _store(self, content: bytes, mime: str) -> str:
        """Put bytes into the ledger and return how bodies name them."""
        sha256 = hashlib.sha256(content).hexdigest()
        if self._ledger is not None:
            self._ledger.put_media(sha256, mime, content)
        return MEDIA + sha256

    def _kept(self, name: str, cut: Callable[[], Cut]) -> Cut:
        """Return what was cut before, if the ledger still has all of it, else cut and keep it."""
        path = self._cuts / f"{name}.json"
        if self._ledger is None:
            return _read_cut(path) or cut()
        before = _read_cut(path)
        if before is not None and self._ledger.holds_media(_hashes(before)):
            return before
        record = cut()
        self._cuts.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(json.dumps(record, indent=1).encode())
        return record


def _read_cut(path: Path) -> Cut | None:
    try:
        record = parse_json(path.read_text(encoding="utf-8"))
        _hashes(record)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # none there, or cut off
        return None
    return dict(record)


def _hashes(cut: Cut) -> list[str]:
    references = [frame["media"] for frame in cut["frames"]] if "frames" in cut else [cut["sound"]]
    return [name.removeprefix(MEDIA) for name in references if name is not None]


def _part(kind: str, url: str) -> Part:
    return {"type": kind, kind: {"url": url}}


def _medium_error(media: str, what: str, takes: Collection[str]) -> InputError:
    return InputError(
        f"{media.split('?')[0]}: this judge does not take {what} (takes: {listed(takes) or 'text alone'}); "
        "correct 'takes' in the study file, or name the prompts that it is asked under in 'prompts'."
    )
