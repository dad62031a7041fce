"""Draws the four pictures of the study with Pillow, to the same bytes each time: python make_pictures.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageDraw

SIZE = (480, 360)
INK = "#2b2b2b"
LINE = 4
COLOURS = 32


def cat(draw: ImageDraw.ImageDraw) -> None:
    """A cat at a desk, in front of a laptop."""
    draw.rectangle((0, 0, 480, 250), fill="#dfe9ec")
    draw.rectangle((40, 30, 150, 130), fill="#bfe0f2", outline=INK, width=LINE)  # window
    draw.line((95, 30, 95, 130), fill=INK, width=LINE)
    draw.line((40, 80, 150, 80), fill=INK, width=LINE)
    draw.polygon([(232, 90), (242, 28), (282, 72)], fill="#e79a4b", outline=INK, width=LINE)  # ears
    draw.polygon([(368, 90), (358, 28), (318, 72)], fill="#e79a4b", outline=INK, width=LINE)
    draw.ellipse((235, 170, 365, 300), fill="#e79a4b", outline=INK, width=LINE)  # body
    draw.ellipse((225, 55, 375, 195), fill="#e79a4b", outline=INK, width=LINE)  # head
    for x in (265, 335):
        draw.ellipse((x - 16, 100, x + 16, 132), fill="#f7f3c2", outline=INK, width=3)
        draw.ellipse((x - 10, 108, x + 2, 130), fill=INK)
        draw.line((x - 17, 106, x + 17, 106), fill=INK, width=5)  # lids
    draw.polygon([(292, 140), (308, 140), (300, 150)], fill="#b4543f")
    draw.line((284, 164, 300, 158, 316, 164), fill=INK, width=3)
    for side in (-1, 1):
        for rise in (-8, 2, 12):
            draw.line((300 + side * 30, 148, 300 + side * 95, 148 + rise), fill=INK, width=2)
    draw.rectangle((0, 250, 480, 360), fill="#a5734a")  # desk
    draw.line((0, 250, 480, 250), fill=INK, width=LINE)
    draw.polygon([(95, 165), (225, 165), (245, 265), (115, 265)], fill="#9aa3a8", outline=INK, width=LINE)
    draw.polygon([(115, 265), (245, 265), (290, 300), (130, 300)], fill="#c4cbcf", outline=INK, width=LINE)
    draw.ellipse((163, 203, 187, 227), fill="#e8ecee")
    draw.ellipse((262, 250, 302, 290), fill="#e79a4b", outline=INK, width=LINE)  # paw on the keys
    draw.rectangle((395, 205, 440, 258), fill="#ffffff", outline=INK, width=LINE)  # cup
    draw.arc((428, 215, 460, 248), 270, 90, fill=INK, width=LINE)


def snowman(draw: ImageDraw.ImageDraw) -> None:
    """A snowman on a beach."""
    draw.rectangle((0, 0, 480, 190), fill="#9fd8f5")
    draw.rectangle((0, 150, 480, 230), fill="#3f8fc4")
    draw.rectangle((0, 220, 480, 360), fill="#f2dba0")
    draw.ellipse((30, 20, 110, 100), fill="#ffd94a", outline="#e0a91f", width=LINE)
    for x, y in ((130, 40), (120, 90), (70, 118), (20, 112)):
        draw.line((70, 60, x, y), fill="#e0a91f", width=3)
    draw.ellipse((30, 20, 110, 100), fill="#ffd94a", outline="#e0a91f", width=LINE)
    draw.ellipse((175, 300, 345, 345), fill="#bfe6f7", outline="#79b9d8", width=3)  # puddle
    draw.ellipse((195, 205, 325, 330), fill="#ffffff", outline=INK, width=LINE)
    draw.ellipse((212, 130, 308, 222), fill="#ffffff", outline=INK, width=LINE)
    draw.ellipse((226, 70, 294, 140), fill="#ffffff", outline=INK, width=LINE)
    for x in (246, 276):
        draw.rectangle((x - 14, 92, x + 12, 106), fill=INK)  # sunglasses
    draw.line((232, 96, 290, 96), fill=INK, width=4)
    draw.polygon([(258, 110), (300, 118), (258, 122)], fill="#ee7f2d", outline=INK, width=2)
    draw.line((246, 131, 256, 127, 268, 130), fill=INK, width=3)
    for y in (155, 178, 201):
        draw.ellipse((254, y, 264, y + 10), fill=INK)
    draw.line((216, 170, 160, 140), fill="#6b4a2b", width=6)
    draw.line((304, 170, 352, 190), fill="#6b4a2b", width=6)
    for x, y in ((222, 230), (302, 240), (240, 262)):
        draw.ellipse((x, y, x + 8, y + 14), fill="#79b9d8")  # drops
    draw.line((400, 70, 370, 320), fill="#6b4a2b", width=7)  # parasol
    draw.pieslice((300, 20, 490, 190), 190, 368, fill="#d9483b", outline=INK, width=LINE)
    draw.pieslice((345, 20, 440, 190), 190, 368, fill="#ffffff", outline=INK, width=LINE)


def astronaut(draw: ImageDraw.ImageDraw) -> None:
    """An astronaut at a bus stop on the moon."""
    draw.rectangle((0, 0, 480, 360), fill="#10131f")
    for n in range(60):
        x, y = (n * 97) % 480, (n * 53) % 230
        draw.ellipse((x, y, x + 2 + n % 2, y + 2 + n % 2), fill="#ffffff")
    draw.ellipse((330, 20, 440, 130), fill="#3d7fc1", outline="#9cc7ea", width=3)  # earth
    draw.polygon([(350, 45), (385, 38), (400, 60), (370, 85), (352, 70)], fill="#5ea85c")
    draw.polygon([(395, 85), (420, 80), (425, 100), (402, 112)], fill="#5ea85c")
    draw.ellipse((-160, 235, 640, 620), fill="#b9bcc4", outline="#e3e5ea", width=3)
    for x, y, w in ((60, 310, 60), (350, 300, 80), (250, 335, 50), (420, 340, 40)):
        draw.ellipse((x, y, x + w, y + w // 3), fill="#9599a3", outline="#7c808a", width=2)
    draw.line((120, 80, 120, 300), fill="#d0d4da", width=8)  # bus stop
    draw.rectangle((72, 60, 168, 130), fill="#f4c430", outline=INK, width=LINE)
    draw.rectangle((92, 78, 148, 106), fill="#ffffff", outline=INK, width=3)
    for x in (95, 114, 132):
        draw.rectangle((x, 82, x + 13, 93), fill="#9fd8f5", outline=INK)
    for x in (103, 137):
        draw.ellipse((x - 7, 100, x + 7, 114), fill=INK)
    draw.rectangle((98, 140, 142, 190), fill="#ffffff", outline=INK, width=3)  # timetable
    for y in range(150, 186, 8):
        draw.line((104, y, 136, y), fill="#7c808a", width=2)
    draw.rectangle((218, 160, 240, 240), fill="#8f959f", outline=INK, width=3)  # pack
    draw.rounded_rectangle((232, 158, 306, 250), 22, fill="#f4f5f7", outline=INK, width=LINE)
    draw.rounded_rectangle((238, 240, 264, 302), 10, fill="#f4f5f7", outline=INK, width=LINE)
    draw.rounded_rectangle((274, 240, 300, 302), 10, fill="#f4f5f7", outline=INK, width=LINE)
    draw.rounded_rectangle((296, 168, 320, 232), 12, fill="#f4f5f7", outline=INK, width=LINE)
    draw.ellipse((228, 88, 310, 168), fill="#f4f5f7", outline=INK, width=LINE)
    draw.rounded_rectangle((242, 104, 304, 150), 20, fill="#d69a2d", outline=INK, width=3)
    draw.line((254, 116, 268, 112), fill="#fff0c9", width=4)
    draw.rectangle((252, 184, 284, 210), fill="#c9ced6", outline=INK, width=2)


def robot(draw: ImageDraw.ImageDraw) -> None:
    """A robot with flowers before a toaster."""
    draw.rectangle((0, 0, 480, 280), fill="#f6e7e1")
    draw.rectangle((0, 280, 480, 360), fill="#d6c3b4")
    draw.rectangle((270, 215, 480, 240), fill="#9b6b43", outline=INK, width=LINE)  # table
    for x in (290, 455):
        draw.rectangle((x, 240, x + 14, 345), fill="#9b6b43", outline=INK, width=3)
    for x in (340, 385):  # slices
        draw.rounded_rectangle((x, 92, x + 34, 150), 10, fill="#e0b06c", outline=INK, width=3)
    draw.rounded_rectangle((318, 125, 440, 216), 22, fill="#d5484a", outline=INK, width=LINE)
    draw.rectangle((440, 150, 456, 164), fill=INK)
    draw.ellipse((366, 178, 392, 204), fill="#f4f5f7", outline=INK, width=3)
    draw.line((379, 191, 379, 181), fill=INK, width=3)
    draw.line((110, 22, 110, 50), fill=INK, width=LINE)  # antenna
    draw.ellipse((101, 10, 119, 28), fill="#f4c430", outline=INK, width=3)
    draw.rounded_rectangle((62, 50, 158, 128), 12, fill="#8fb4c8", outline=INK, width=LINE)
    for x in (92, 132):
        draw.ellipse((x - 13, 70, x + 13, 96), fill="#ffffff", outline=INK, width=3)
        draw.ellipse((x, 78, x + 10, 88), fill=INK)
    draw.arc((88, 92, 136, 120), 20, 160, fill=INK, width=LINE)
    draw.rectangle((98, 128, 122, 144), fill="#6f8c9b", outline=INK, width=3)
    draw.rounded_rectangle((48, 144, 172, 268), 14, fill="#8fb4c8", outline=INK, width=LINE)
    draw.polygon([(92, 152), (110, 164), (92, 176)], fill="#d5484a", outline=INK, width=2)  # bow tie
    draw.polygon([(128, 152), (110, 164), (128, 176)], fill="#d5484a", outline=INK, width=2)
    for x in (72, 124):
        draw.rectangle((x, 268, x + 24, 330), fill="#6f8c9b", outline=INK, width=3)
        draw.rounded_rectangle((x - 10, 326, x + 36, 346), 6, fill="#4f6470", outline=INK, width=3)
    draw.line((172, 180, 215, 205), fill="#6f8c9b", width=16)  # arm
    for x, y, colour in ((205, 120, "#f0709a"), (238, 110, "#f4c430"), (262, 132, "#f0709a")):
        draw.line((226, 215, x, y), fill="#4b8b4a", width=4)
        for dx, dy in ((-9, 0), (9, 0), (0, -9), (0, 9)):
            draw.ellipse((x + dx - 8, y + dy - 8, x + dx + 8, y + dy + 8), fill=colour, outline=INK)
        draw.ellipse((x - 6, y - 6, x + 6, y + 6), fill="#fff7d6", outline=INK)
    draw.polygon([(208, 180), (250, 180), (226, 232)], fill="#ffffff", outline=INK, width=3)


def main() -> None:
    """Write all pictures."""
    folder = Path(__file__).with_name("pictures")
    folder.mkdir(exist_ok=True)
    pictures: tuple[Callable[[ImageDraw.ImageDraw], None], ...] = (cat, snowman, astronaut, robot)
    for picture in pictures:
        image = Image.new("RGB", SIZE, "#ffffff")
        picture(ImageDraw.Draw(image))
        few = image.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        few.save(folder / f"{picture.__name__}.png", optimize=True)


if __name__ == "__main__":
    main()
