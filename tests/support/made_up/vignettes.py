"""Records of every layout that ships, and pictures that stand in for faces and products."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

import yaml
from PIL import Image, ImageDraw

FILE = Path(__file__).parents[2] / "fixtures" / "vignettes" / "records.yaml"
RECORDS: dict[str, dict[str, object]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
POST, PROFILE, PRODUCT, TABLE = (RECORDS[name] for name in ("post", "profile", "product", "table"))
ARABIC_POST = POST | RECORDS.pop("arabic_post")
ARABIC = str(ARABIC_POST["text"])


def picture(name: str, size: int) -> Image.Image:
    """Draw a disc on a ground, both in colours that the name decides."""
    seed = zlib.crc32(name.encode())
    ground, disc = ((seed >> shift & 255, seed >> shift + 4 & 255, 120, 255) for shift in (0, 12))
    image = Image.new("RGBA", (size, size), ground)
    ImageDraw.Draw(image).ellipse((size // 4, size // 4, 3 * size // 4, 3 * size // 4), fill=disc)
    return image


GOLDEN: dict[str, tuple[str, str, Mapping[str, object]]] = {  # file, layout, theme and record
    "post_light": ("post", "light", POST),
    "post_dark": ("post", "dark", ARABIC_POST),
    "profile": ("profile", "light", PROFILE),
    "product": ("product", "dark", PRODUCT),
    "table": ("table", "light", TABLE),
}
