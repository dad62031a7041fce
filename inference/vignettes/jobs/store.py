"""Pictures as files named by their content, and what each picture of a profile shows."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from PIL import Image

from ...design.stimuli import load_posts, profile_values
from ...design.subjects import label_fields
from ...errors import InputError, did_you_mean, listed
from ...study.asking import Content, Cues
from ...study.models import Study
from ...tables.columns import rows_of
from ...tables.writing import atomic_write
from ..faces import Faces, load_faces

Format = Literal["png", "webp"]
MEDIA_TYPES: dict[str, str] = {"png": "image/png", "webp": "image/webp"}
LEVEL = 2  # of deflate; pages of flat colour and text gain little from more
MEMORY = 9  # the most of deflate
SIGNATURE = b"\x89PNG\r\n\x1a\n"
DEPTH, TRUE_COLOUR = 8, 2  # of PNG: 8 bits per channel, RGB without transparency
LARGEST_SIDE = {"png": 2**31 - 1, "webp": 16_383}  # pixels, by the formats
PICTURES = "pictures"
STALE = 3600  # seconds after which a draft is no longer being written


def encode(image: Image.Image, kind: Format) -> bytes:
    """Return a picture as the bytes of a file; equal pictures give equal bytes.

    Parameters
    ----------
    image : Image
        Opaque, mode RGB.
    kind : "png" or "webp"
        Both keep every pixel. WebP is half the size and takes several times as long.

    Returns
    -------
    bytes
        Content of the file.

    Raises
    ------
    InputError
        A side of the picture is too long for the format.

    Examples
    --------
    >>> content = encode(Image.new("RGB", (40, 30), "white"), "png")
    >>> Image.open(io.BytesIO(content)).size
    (40, 30)
    """
    if image.mode != "RGB":
        raise ValueError(f"a picture of mode {image.mode}; only RGB is written")
    if max(image.size) > LARGEST_SIDE[kind]:
        raise InputError(
            f"A picture of {image.width:,} x {image.height:,} pixels is too large for {kind}; shorten the "
            "texts, or make the layout smaller."
        )
    if kind == "png":
        return _png(image)
    content = io.BytesIO()
    image.save(content, "WEBP", lossless=True, method=1, quality=0)
    return content.getvalue()


def compressor() -> str:
    """Return the name of the library that compresses PNG files: zlib-ng if installed, else Python's zlib."""
    return _COMPRESSOR[0]


def store_picture(root: Path, content: bytes, kind: str) -> tuple[str, str]:
    """Store a picture in one of 256 folders unless it is there; return its path in the root and SHA-256."""
    sha256 = hashlib.sha256(content).hexdigest()
    file = f"{PICTURES}/{sha256[:2]}/{sha256}.{kind}"
    if not is_stored(root, file, len(content)):
        path = root / file
        with atomic_write(path, durable=False) as draft:
            draft.write(content)
    return file, sha256


def is_stored(root: Path, file: str, size: int) -> bool:
    """Return whether a file of this size is in the store."""
    try:
        return os.stat(root / file).st_size == size
    except OSError:
        return False


def damaged_pictures(root: Path, files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Read pictures, by path inside the root and SHA-256; yield a phrase for each missing or changed one."""
    for file, sha256 in files:
        try:
            content = (root / file).read_bytes()
        except FileNotFoundError:
            yield f"{file} is missing"
            continue
        except OSError as error:
            yield f"{file} cannot be read ({error.strerror})"
            continue
        if hashlib.sha256(content).hexdigest() != sha256:
            yield f"{file} is damaged"


def remove_drafts(root: Path) -> int:
    """Remove drafts of killed processes; return their number."""
    before, removed = time.time() - STALE, 0
    for draft in (root / PICTURES).glob("??/.*.tmp"):
        with suppress(OSError):
            if draft.stat().st_mtime < before:
                draft.unlink()
                removed += 1
    return removed


def _find_compressor() -> tuple[str, Callable[..., Any]]:
    try:
        from zlib_ng import zlib_ng
    except ImportError:
        return f"zlib {zlib.ZLIB_RUNTIME_VERSION}", zlib.compressobj
    return f"zlib-ng {zlib_ng.ZLIBNG_VERSION}", zlib_ng.compressobj


_COMPRESSOR = _find_compressor()


def _png(image: Image.Image) -> bytes:
    """Write 8-bit colour in a tenth of Pillow's time: rows unfiltered, each after its filter byte 0."""
    width, height = image.size
    rows = memoryview(image.tobytes("raw", "RGB", 3 * width + 1, 1))  # with a zero after each row
    stream = _COMPRESSOR[1](LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, MEMORY)
    packed = b"".join((stream.compress(b"\0"), stream.compress(rows[:-1]), stream.flush()))
    header = struct.pack(">IIBBBBB", width, height, DEPTH, TRUE_COLOUR, 0, 0, 0)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(content, zlib.crc32(name))
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
POST_FIELDS = ("name", "handle", "face", "text", "likes", "posted")
REPLY_FIELDS = ("reply_name", "reply_handle", "reply_face", "reply_text")
CHUNK = 10_000  # rows described at a time


def vignette_records(
    study: Study, profiles: pd.DataFrame, cues: Cues, seed: int, faces: Faces | None = None
) -> pd.DataFrame:
    """Return what the picture of each profile shows.

    The rows of one profile and seed differ in the cues alone, and a row does not depend on the other rows.

    Parameters
    ----------
    study : Study
        A conjoint study.
    profiles : DataFrame
        Rows of ``design.enumerate_profiles``, in any number and order.
    cues : {"both", "name", "face", "none"}
        What is shown of an author's identity; a hidden name and handle, or a hidden face, is replaced by that
        of the anonymous author of the same number.
    seed : int
        Seed of the parts of posts that are drawn.
    faces : Faces, optional
        As from :func:`study_faces`, by default read again.

    Returns
    -------
    DataFrame
        One row per profile, with ``profile_id`` and ``alt``, the picture in one or two sentences. For a study
        with ``content`` also ``name, handle, face, text, likes, posted, reply_name, reply_handle, reply_face,
        reply_text`` (the last four missing without a reply); for others the labels of attributes and levels.

    Raises
    ------
    InputError
        The study has no anonymous authors, or its files lack something that it names.

    Examples
    --------
    >>> from conjury.inference.design.profiles import enumerate_profiles
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> profiles = enumerate_profiles(study).query("user == 'black_female_04'").head(1)
    >>> for cues in ("both", "name", "face", "none"):
    ...     print(*vignette_records(study, profiles, cues, seed=1)[["name", "face"]].iloc[0], sep=", ")
    Shanice Gadson, black_female_04
    Shanice Gadson, anonymous_04
    HN, black_female_04
    HN, anonymous_04
    """
    if study.content is None:
        return _labelled(study, profiles, cues)
    if cues != "both":
        _check_anonymous(study, study.content, cues)
    kit = load_posts(study.folder, study.content, profile_values(study))
    table = kit.signed(profiles, seed, cues)
    return table.assign(alt=_alt_texts(table, faces or study_faces(study)))


def study_faces(study: Study) -> Faces:
    """Load the pictures of a study's authors and repliers; none for a study without posts."""
    content = study.content
    if content is None:
        return Faces({}, {})
    if content.faces is None:
        raise InputError(
            f"The study {study.name} names no faces; write `faces:` under content, with a file that says how "
            "faces are drawn, or with a folder that has a folder of pictures for each group."
        )
    kit = load_posts(study.folder, content, profile_values(study))
    return load_faces(
        study.folder / content.faces,
        list(kit.people.authors),
        len(kit.people.repliers),
        content.roles.anonymous,
        study.level_labels[_author_attribute(study, content)],
        study.folder,
    )


def _author_attribute(study: Study, content: Content) -> str:
    return next(stimulus.attribute for stimulus in study.stimuli if stimulus.id == content.roles.author)


def _check_anonymous(study: Study, content: Content, cues: Cues) -> None:
    attribute, anonymous = _author_attribute(study, content), content.roles.anonymous
    levels = study.levels(attribute)
    if anonymous not in levels:
        raise InputError(
            f"Cues '{cues}' need anonymous authors, and content.roles.anonymous of the study file is "
            f"'{anonymous}'{did_you_mean(anonymous, levels)}; name the level of {attribute} without an "
            f"identity ({listed(levels)}), or show both cues."
        )


def _labelled(study: Study, profiles: pd.DataFrame, cues: Cues) -> pd.DataFrame:
    if cues != "both":
        raise InputError(
            f"The study {study.name} has no content with names and faces, so cues '{cues}' cannot be shown; "
            "ask for both."
        )
    table = label_fields(study, profiles)
    fields = [str(name) for name in table if name != "profile_id"]
    alt = ["; ".join(map(": ".join, zip(fields, row, strict=True))) + "." for row in rows_of(table[fields])]
    return table.assign(alt=pd.array(alt, dtype="string"))


def _alt_texts(table: pd.DataFrame, faces: Faces) -> pd.Series[str]:
    pictures = {name: faces.describe(name) for name in faces.sources}
    alt = []
    for start in range(0, len(table), CHUNK):
        rows = table.iloc[start : start + CHUNK]
        texts = [
            _post_alt(pictures, *row[: len(POST_FIELDS)]) + _reply_alt(pictures, *row[len(POST_FIELDS) :])
            for row in rows_of(rows[[*POST_FIELDS, *REPLY_FIELDS]])
        ]
        alt.append(pd.Series(texts, rows.index, dtype="string"))
    return pd.concat(alt) if alt else pd.Series(dtype="string")


def _post_alt(
    pictures: dict[str, str], name: str, handle: str, face: str, text: str, likes: int, posted: str
) -> str:
    day = f"{int(posted[8:10])} {MONTHS[int(posted[5:7]) - 1]} {posted[:4]}"
    return (
        f"Post by {name} (@{handle}), with {pictures[face]}, on {day} at {posted[11:16]}, saying “{text}”, "
        f"with {likes} {'like' if likes == 1 else 'likes'}."
    )


def _reply_alt(
    pictures: dict[str, str], name: str | None, handle: str | None, face: str | None, text: str | None
) -> str:
    if face is None:
        return ""
    return f" A reply by {name} (@{handle}), with {pictures[face]}, says “{text}”"
