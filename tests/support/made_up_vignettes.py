"""Records of every layout that ships, and pictures that stand in for faces and products."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from PIL import Image, ImageDraw

ENGLISH = (
    "Waited forty minutes for the bus and then a passenger with three suitcases blocked the door. "
    "Got home so late that dinner was stone cold 🥶"
)
ARABIC = "كل صباح نفس الزحمة على الجسر ☕ وصلت إلى العمل متأخرا نصف ساعة، والقهوة بردت قبل أن أشربها 😩"
POST: dict[str, object] = {
    "profile_id": 7,
    "name": "Jermaine Banks",
    "handle": "jermaine_banks6079",
    "face": "black_male_09",
    "text": ENGLISH,
    "likes": 1204,
    "posted": "2025-03-05T21:41",
    "reply_name": "ليلى حداد",
    "reply_handle": "layla_haddad12",
    "reply_face": "replier_04",
    "reply_text": "The buses here are hopeless lately, I feel your pain.",
    "alt": "Post by Jermaine Banks",
}
ARABIC_POST = {
    **POST,
    "text": ARABIC,
    "likes": 1,
    "posted": "2025-01-31T00:05",
    "reply_text": "صحيح! غدا أيضا.",
}
PROFILE: dict[str, object] = {
    "profile_id": 3,
    "face": "amina",
    "name": "Amina Haddad",
    "handle": "amina_haddad",
    "headline": "Candidate for the city council",
    "place": "Springfield",
    "work": "Nurse, County Hospital",
    "text": "Two children, one bicycle and many opinions about bus lanes 🚲",
    "Party": "Independent",
    "Age": 43,
    "Education": "Some college, no degree",
    "alt": "",
}
PRODUCT: dict[str, object] = {
    "profile_id": 4,
    "picture": "lamp",
    "brand": "Fjordlys",
    "name": "Reading lamp with a swivel arm and a dimmer",
    "rating": 4.6,
    "reviews": 12830,
    "price": "$24.99",
    "delivery": "Free delivery by Tuesday",
    "text": "Warm light in three levels, and a cord that is long enough.",
    "Material": "Aluminium",
    "Guarantee": "3 years",
    "alt": "",
}
TABLE: dict[str, object] = {
    "profile_id": 5,
    "Policy instrument": "Carbon tax with dividends paid to every household",
    "Cost to an average household": "$12 a month",
    "Countries that take part": "20 of 192",
    "Sanctions": None,
    "Target": "80% of today's emissions",
    "alt": "",
}
RECORDS = {"post": POST, "profile": PROFILE, "product": PRODUCT, "table": TABLE}


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
