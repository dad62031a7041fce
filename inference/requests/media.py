"""Images, clips and sound of requests: named by their content, sent inside them or by allowed addresses."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import InputError, listed
from ..ledger.exchanges import MEDIA, Body

FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
LARGEST = 20_000_000  # bytes of one image; the limit of the strictest of the common providers
PIXELS = 50_000_000


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


def resolve(body: Body, media: Callable[[str], tuple[str, bytes]]) -> Body:
    """Put images, clips and sound of a stored body where it names them; others are returned as they are."""
    messages = body["messages"]
    if all(isinstance(message["content"], str) for message in messages):
        return body
    return {**body, "messages": [_resolve_message(message, media) for message in messages]}


def _resolve_message(message: dict[str, Any], media: Callable[[str], tuple[str, bytes]]) -> dict[str, Any]:
    if isinstance(message["content"], str):
        return message
    return {**message, "content": [_resolve_part(part, media) for part in message["content"]]}


def _resolve_part(part: dict[str, Any], media: Callable[[str], tuple[str, bytes]]) -> dict[str, Any]:
    kind = part["type"]
    field = "data" if kind == "input_audio" else "url"
    held = part.get(kind)
    if not isinstance(held, dict) or not str(held.get(field, "")).startswith(MEDIA):
        return part
    mime, content = media(held[field].removeprefix(MEDIA))
    coded = base64.b64encode(content).decode("ascii")
    return {**part, kind: {**held, field: coded if field == "data" else f"data:{mime};base64,{coded}"}}


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
