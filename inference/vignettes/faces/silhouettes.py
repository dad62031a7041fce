"""People who show no face: a pale silhouette on a colour that tells one from another."""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image

from .canvas import Canvas, arch, mixed, oval

COLOURS = {  # neighbours in this order differ clearly, since few people are shown beside each other
    "teal": "#2a8c82",
    "orange": "#e07b2c",
    "navy": "#2b4470",
    "pink": "#d9668f",
    "green": "#4c9a4a",
    "purple": "#75529f",
    "gold": "#cf9c1f",
    "sky blue": "#4c9fd8",
    "red": "#c4433c",
    "grey": "#7b848c",
    "brown": "#85593d",
    "turquoise": "#38b6c0",
    "magenta": "#b83a8c",
    "olive": "#83873a",
    "blue": "#3467c2",
    "coral": "#ec7f6e",
    "dark green": "#276246",
    "lavender": "#a08ccb",
    "rust": "#a8502a",
    "mint": "#67bd99",
    "maroon": "#7d2a3d",
    "steel blue": "#5c7fa0",
    "lime": "#97b83b",
    "violet": "#5a45b5",
    "charcoal": "#444b54",
}
TINTS = {"": ("#000000", 0.0), "deep ": ("#000000", 0.35), "pale ": ("#ffffff", 0.4)}
MOST = len(COLOURS) * len(TINTS)


@dataclass(frozen=True, slots=True)
class Silhouette:
    """The silhouette of a person: the ``number``-th, from 0."""

    number: int

    @property
    def colour(self) -> str:
        """Of the ground, as '#rrggbb'."""
        tint, share = list(TINTS.values())[self.number // len(COLOURS)]
        return mixed(list(COLOURS.values())[self.number % len(COLOURS)], tint, share)

    @property
    def words(self) -> str:
        """What the picture shows."""
        tint = list(TINTS)[self.number // len(COLOURS)]
        return f"a silhouette on {tint}{list(COLOURS)[self.number % len(COLOURS)]}"

    def picture(self, size: int) -> Image.Image:
        """Draw it as a square of ``size`` pixels."""
        canvas = Canvas(size, self.colour)
        person = mixed(self.colour, "#ffffff", 0.86)
        canvas.fill(arch((346, 408), (340, 358), (314, 302), (258, 268), (200, 260)), person)
        canvas.fill(oval(200, 166, 80, 84), self.colour)
        canvas.fill(oval(200, 162, 68, 72), person)
        return canvas.finished()
