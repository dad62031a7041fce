"""Parts of requests for images and clips: what is stored is named by hash, what is cut from clips is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from ..design.subjects import Shown
from ..errors import InputError, listed
from ..ledger import Ledger
from ..ledger.exchanges import MEDIA
from ..study.asking import Collecting, Medium, Video
from ..tables.bounded import parse_json
from .media import LARGEST, check_address, find_medium, read_medium
from .video import Clip, cut_frames, read_clip, sound_track

Part = dict[str, Any]
Cut = dict[str, Any]
FRAME, WAV = "image/jpeg", "audio/wav"


class MediaParts:
    """Turns what a subject shows into parts of a message, as the judge takes them.

    Images and clips lie in the folder of the study, or at addresses of allowed hosts. A clip goes whole to
    judges that take video; to others go its frames, and its sound to those that take audio. Frames and sound
    are cut once for a clip and its settings: their hashes are kept in the folder ``cuts`` of the run, their
    bytes in its ledger.
    """

    def __init__(self, folder: Path, collect: Collecting, ledger: Ledger | None, cuts: Path) -> None:
        self._folder, self._hosts, self._video = folder, collect.media_hosts, collect.video or Video()
        self._ledger, self._cuts = ledger, cuts
        self._known: dict[tuple[str, str, tuple[str, ...]], tuple[str, list[Part]]] = {}

    def __call__(self, shown: Shown, takes: Collection[Medium]) -> list[Part]:
        """Return the parts that show one image or clip, after words that say what follows."""
        media = str(shown.media)
        asked = (media, shown.kind, tuple(takes))
        if asked not in self._known:
            make = self._clip if shown.kind == "video" else self._image
            self._known[asked] = make(media, takes)
        words, parts = self._known[asked]
        noun, _, rest = words.partition(",")
        text = f"{noun} {shown.position}".strip() + (f",{rest}" if rest else "")
        return [{"type": "text", "text": text}, *parts]

    def _image(self, media: str, takes: Collection[Medium]) -> tuple[str, list[Part]]:
        if "image" not in takes:
            raise _not_taken(media, "images", takes)
        if "://" in media:
            return "Image", [_part("image_url", check_address(media, self._hosts))]
        medium = read_medium(media, self._folder)
        return "Image", [_part("image_url", self._store(medium.content, medium.mime))]

    def _clip(self, media: str, takes: Collection[Medium]) -> tuple[str, list[Part]]:
        if not {"video", "image"} & set(takes):
            raise _not_taken(media, "clips or their frames", takes)
        if "://" in media:
            return self._clip_at(check_address(media, self._hosts), takes)
        clip = read_clip(find_medium(media, self._folder, "clip"))
        words, parts = self._whole(clip) if "video" in takes else self._frames(clip)
        if "audio" in takes and self._video.audio == "if_taken" and clip.sound:
            parts = [*parts, *self._sound(clip)]
        return words, parts

    def _clip_at(self, address: str, takes: Collection[Medium]) -> tuple[str, list[Part]]:
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
        told = f"{len(frames)} frame{'s' * (len(frames) > 1)}{every}"
        words = f"Video, {clip.seconds:.1f} seconds long, shown as {told}"
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
        made = cut()
        self._cuts.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps(made, indent=1), encoding="utf-8")
        draft.replace(path)
        return made


def _read_cut(path: Path) -> Cut | None:
    try:
        kept = parse_json(path.read_text(encoding="utf-8"))
        _hashes(kept)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # none there, or cut off
        return None
    return dict(kept)


def _hashes(cut: Cut) -> list[str]:
    named = [frame["media"] for frame in cut["frames"]] if "frames" in cut else [cut["sound"]]
    return [name.removeprefix(MEDIA) for name in named if name is not None]


def _part(kind: str, url: str) -> Part:
    return {"type": kind, kind: {"url": url}}


def _not_taken(media: str, what: str, takes: Collection[str]) -> InputError:
    return InputError(
        f"{media.split('?')[0]}: this judge does not take {what} (takes: {listed(takes) or 'text alone'}); "
        "correct 'takes' in the study file, or name the prompts that it is asked under in 'prompts'."
    )
