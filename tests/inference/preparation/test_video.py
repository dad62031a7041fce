from __future__ import annotations

import io
import itertools
import os
import struct
import sys
import wave
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("av", reason="needs PyAV (the extra media)")

from fakes.clips import PITCH, number_in, write_clip, write_sound

from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.preparation import video
from conjury.inference.preparation.video import cut_frames, moments, read_clip, sound_track


def size_of(jpeg: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(jpeg)).size


@pytest.mark.parametrize("kind", [".mp4", ".mov", ".webm"])
def test_frames_are_those_on_display_at_each_moment(tmp_path, kind):
    clip = read_clip(write_clip(tmp_path / f"clip{kind}", frames=40, rate=25))
    assert clip.seconds == pytest.approx(1.6, abs=0.002)
    frames = list(cut_frames(clip, rate=10, most=64, longest_side=96))
    assert [frame.seconds for frame in frames] == pytest.approx(np.arange(16) / 10)
    assert [number_in(frame.content) for frame in frames] == [int(2.5 * n) for n in range(16)]
    spread = list(cut_frames(clip, rate=10, most=4, longest_side=96))  # over the whole clip
    assert [frame.seconds for frame in spread] == pytest.approx([0, 0.4, 0.8, 1.2])
    assert [number_in(frame.content) for frame in spread] == [0, 10, 20, 30]


def test_a_clip_of_fewer_frames_shows_each_as_long_as_it_lasts(tmp_path):
    clip = read_clip(write_clip(tmp_path / "slow.mp4", frames=5, rate=5))
    frames = cut_frames(clip, rate=10, most=64, longest_side=96)
    assert [number_in(frame.content) for frame in frames] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize("seconds", [0.04, 0.1, 1.0, 6.4, 6.41, 62.0, 599.9])
@pytest.mark.parametrize(("rate", "most"), [(10.0, 64), (0.5, 8), (60.0, 1)])
def test_moments_lie_inside_the_clip_and_never_exceed_the_cap(seconds, rate, most):
    found = moments(seconds, rate, most)
    assert found[0] == 0.0
    assert 1 <= len(found) <= most
    assert found[-1] < seconds
    steps = [b - a for a, b in itertools.pairwise(found)]
    assert all(step >= 1 / rate - 1e-9 for step in steps)


def test_frames_are_scaled_down_but_never_up_and_made_square(tmp_path):
    clip = read_clip(write_clip(tmp_path / "clip.mp4", frames=2, size=(320, 180)))
    for longest, size in ((160, (160, 90)), (512, (320, 180)), (1, (1, 1))):
        assert size_of(next(cut_frames(clip, 10, 64, longest)).content) == size
    wide = read_clip(write_clip(tmp_path / "wide.mp4", frames=2, size=(96, 96), pixel=Fraction(2, 1)))
    assert size_of(next(cut_frames(wide, 10, 64, 96)).content) == (96, 48)


def test_clips_of_a_turned_telephone_stand_upright(tmp_path):
    path = write_clip(tmp_path / "turned.mp4", frames=2, size=(96, 64), bright_top=True)
    content = bytearray(path.read_bytes())
    matrix = content.index(b"tkhd") + 44
    clockwise = (0, 1 << 16, 0, -1 << 16, 0, 0, 64 << 16, 0, 1 << 30)
    content[matrix : matrix + 36] = struct.pack(">9i", *clockwise)
    path.write_bytes(bytes(content))
    shown = next(cut_frames(read_clip(path), 10, 64, 96)).content
    assert size_of(shown) == (64, 96)
    grey = np.asarray(Image.open(io.BytesIO(shown)).convert("L"))
    assert grey[:, :24].max() < 20
    assert grey[:, -24:].min() > 235


@pytest.mark.parametrize("kind", [".mp4", ".webm"])
def test_sound_becomes_a_track_of_16_khz(tmp_path, kind):
    clip = read_clip(write_clip(tmp_path / f"loud{kind}", sound=True))
    track = sound_track(clip)
    assert clip.sound
    with wave.open(io.BytesIO(track)) as held:
        assert held.getparams()[:3] == (1, 2, 16_000)
        heard = np.frombuffer(held.readframes(held.getnframes()), np.int16)
    assert len(heard) / 16_000 == pytest.approx(2.0, abs=0.05)
    middle = heard[8_000:24_000]
    assert np.abs(np.fft.rfft(middle)).argmax() == pytest.approx(PITCH, abs=2)
    silent = read_clip(write_clip(tmp_path / f"silent{kind}", frames=5))
    assert (silent.sound, sound_track(silent)) == (False, None)


def broken(change: Callable[[bytearray], bytes], path: Path, frames: int = 50) -> None:
    path.write_bytes(change(bytearray(write_clip(path, frames=frames).read_bytes())))


def scrambled(content: bytearray) -> bytes:
    for place in range(600, len(content) - 2000, 3):
        content[place] ^= 0x5A
    return bytes(content)


PLAYLIST = b"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n/etc/passwd\n#EXT-X-ENDLIST\n"
NO_VIDEO, UNDECODED = "no video that models take; save it as MP4", "cannot be decoded"
CONTENTS = {
    "text.mp4": (b"not a clip" * 99, NO_VIDEO),
    "list.mp4": (PLAYLIST, NO_VIDEO),
    "empty.mp4": (b"", NO_VIDEO),
    "other.mkv": (b"\x1aE\xdf\xa3\x42\x82\x88matroska", NO_VIDEO),
    "head.mp4": (b"\0\0\0\x18ftypmp42" + bytes(99), UNDECODED),
}
BAD = {
    **{name: (partial(Path.write_bytes, data=data), told) for name, (data, told) in CONTENTS.items()},
    "gone.mp4": (lambda path: path, "cannot be read"),
    "sound.mp4": (write_sound, "has no pictures"),
    "half.mp4": (partial(broken, lambda content: content[: len(content) // 2]), UNDECODED),
    "half.webm": (
        partial(broken, lambda content: content[: len(content) // 3], frames=100),
        r"breaks off after [\d.]+ of 4\.0 s",
    ),
    "noise.mp4": (partial(broken, scrambled), UNDECODED),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_whole_clip_is_refused_in_one_sentence(tmp_path, name):
    make, told = BAD[name]
    make(tmp_path / name)
    with pytest.raises(InputError, match=told) as refused:
        list(cut_frames(read_clip(tmp_path / name), 10, 64, 96))
    assert str(refused.value).startswith(str(tmp_path / name))
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


def test_clips_that_are_too_large_or_too_long_are_refused(tmp_path, monkeypatch):
    path = write_clip(tmp_path / "clip.mp4", frames=50)
    monkeypatch.setattr(video, "LONGEST", read_clip(path).seconds)
    assert read_clip(path).seconds == pytest.approx(2.0, abs=0.002)
    monkeypatch.setattr(video, "LONGEST", 1.0)
    with pytest.raises(InputError, match="lasts 2 s, more than 1; cut it shorter"):
        read_clip(path)
    monkeypatch.setattr(video, "PIXELS", 6000)
    with pytest.raises(InputError, match="6,144 pixels, more than 6,000"):
        read_clip(path)
    os.truncate(path, video.LARGEST + 1)
    with pytest.raises(InputError, match="500,000,001 bytes, more than 500,000,000"):
        read_clip(path)


def test_without_pyav_one_sentence_shows_how_to_install_it(tmp_path, monkeypatch):
    path = write_clip(tmp_path / "clip.mp4", frames=2)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingDependency, match=r"pip install 'conjury\[media\]'"):
        read_clip(path)
