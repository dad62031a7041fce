"""Posts drawn call by call, as a script does that knows nothing of the post before: the side to compare with.

An equivalent, in our own words, of the routine in the public replication material of a published audit of
moderators: backgrounds, faces and fonts are opened again for each post, text is broken after so many
characters and drawn line by line, each emoji is rendered and scaled where it stands, and Pillow saves with
its defaults.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import regex
from PIL import Image, ImageDraw, ImageFont

WIDTH = 1050
POST_CHARACTERS, REPLY_CHARACTERS = 54, 70
POST_SIZE, NAME_SIZE, SMALL_SIZE = 40, 36, 34
POST_LINE, REPLY_LINE = 56, 48
HEAD, FOOT, REPLY_HEAD = 160, 230, 110  # heights of the backgrounds
MARGIN, FACE, REPLY_FACE = 44, 100, 84
EMOJI_SIZE = 109  # of the bitmaps in the emoji font
Font = ImageFont.FreeTypeFont
Colour = tuple[int, int, int]

INK, MUTED, LINE = (15, 20, 25), (83, 100, 113), (228, 233, 236)
EMOJI = regex.compile(r"(\p{Emoji_Presentation}\ufe0f?|\p{Emoji}\ufe0f)")


def write_backgrounds(folder: Path) -> None:
    """Write the pictures that posts begin with: what stands above and below a text, and before a reply."""
    for name, height in (("head", HEAD), ("foot", FOOT), ("reply", REPLY_HEAD)):
        image = Image.new("RGB", (WIDTH, height), "white")
        pen = ImageDraw.Draw(image)
        if name == "head":
            for place in (970, 986, 1002):
                pen.ellipse((place - 4, 82, place + 4, 90), fill=MUTED)
        if name == "foot":
            for y in (70, 150, 228):
                pen.line((MARGIN, y, WIDTH - MARGIN, y), fill=LINE, width=2)
            for place in range(124, WIDTH, 200):
                pen.ellipse((place - 20, 170, place + 20, 210), outline=MUTED, width=4)
        image.save(folder / f"{name}.png")


def draw_post(post: Mapping[str, Any], folder: Path, font: Path, emoji: Path, out: Path) -> None:
    """Draw one post and save it.

    ``folder`` has the backgrounds, and faces as ``faces/NAME.png``.
    """
    faces = {size: ImageFont.truetype(font, size) for size in (POST_SIZE, NAME_SIZE, SMALL_SIZE)}
    signs = ImageFont.truetype(emoji, EMOJI_SIZE)
    lines = textwrap.wrap(post["text"], POST_CHARACTERS)
    reply_lines = textwrap.wrap(post["reply_text"] or "", REPLY_CHARACTERS)
    reply_height = REPLY_HEAD + REPLY_LINE * len(reply_lines) + 40 if reply_lines else 0
    image = Image.new("RGB", (WIDTH, HEAD + POST_LINE * len(lines) + FOOT + reply_height), "white")

    def write(corner: tuple[int, int], line: str, size: int, colour: Colour) -> None:
        _write(image, corner, line, faces[size], signs, colour)

    with Image.open(folder / "head.png") as head:
        image.paste(head, (0, 0))
    _paste_face(image, folder / "faces" / f"{post['face']}.png", FACE, (MARGIN, 36))
    write((168, 40), post["name"], NAME_SIZE, INK)
    write((168, 86), f"@{post['handle']}", SMALL_SIZE, MUTED)
    y = HEAD
    for line in lines:
        write((MARGIN, y), line, POST_SIZE, INK)
        y += POST_LINE
    with Image.open(folder / "foot.png") as foot:
        image.paste(foot, (0, y))
    write((MARGIN, y + 16), post["posted"].replace("T", " · "), SMALL_SIZE, MUTED)
    write((MARGIN, y + 94), f"{post['likes']} Likes", SMALL_SIZE, INK)
    y += FOOT
    if reply_lines:
        with Image.open(folder / "reply.png") as reply:
            image.paste(reply, (0, y))
        _paste_face(image, folder / "faces" / f"{post['reply_face']}.png", REPLY_FACE, (MARGIN, y + 20))
        write((152, y + 14), post["reply_name"], SMALL_SIZE, INK)
        write((152, y + 58), f"Replying to @{post['handle']}", SMALL_SIZE, MUTED)
        y += REPLY_HEAD
        for line in reply_lines:
            write((152, y), line, SMALL_SIZE, INK)
            y += REPLY_LINE
    image.save(out, "PNG")


def _paste_face(image: Image.Image, path: Path, size: int, corner: tuple[int, int]) -> None:
    """Open a face, scale it, cut it round and paste it."""
    with Image.open(path) as opened:
        face = opened.convert("RGB").resize((size, size), Image.Resampling.LANCZOS)
    mask = Image.new("L", (size, size))
    ImageDraw.Draw(mask).ellipse((0, 0, size - 1, size - 1), fill=255)
    image.paste(face, corner, mask)


def _write(
    image: Image.Image, corner: tuple[int, int], line: str, face: Font, signs: Font, colour: Colour
) -> None:
    """Write a line piece by piece: text from its font, emoji rendered and scaled one by one."""
    pen = ImageDraw.Draw(image)
    x, y = corner
    for piece, is_emoji in _pieces(line):
        if is_emoji:
            sign = _emoji(piece, signs, round(face.size * 1.15))
            image.paste(sign, (round(x), y), sign)
            x += face.size * 1.2
        else:
            pen.text((x, y), piece, font=face, fill=colour)
            x += pen.textlength(piece, font=face)


def _emoji(character: str, signs: Font, size: int) -> Image.Image:
    left, top, right, bottom = signs.getbbox(character)
    drawn = Image.new("RGBA", (round(right - left), round(bottom - top)))
    ImageDraw.Draw(drawn).text((-left, -top), character, font=signs, embedded_color=True)
    return drawn.resize((size, size), Image.Resampling.LANCZOS)


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    """Split a line at its emoji."""
    for number, piece in enumerate(EMOJI.split(line)):
        if piece:
            yield piece, bool(number % 2)
