"""Hair of drawn people by name: what lies behind the head, and what lies before it."""

from __future__ import annotations

from collections.abc import Callable

from . import coiled_hair as coiled
from . import straight_hair as straight
from .hair_tools import Hair

Draw = Callable[[Hair], None]


def nothing(hair: Hair) -> None:
    """Draw no hair."""


HAIR: dict[str, tuple[Draw, Draw]] = {
    "bald": (nothing, nothing),
    "buzz": (nothing, coiled.buzz),
    "fade": (nothing, coiled.fade),
    "waves": (nothing, coiled.waves),
    "short_coils": (nothing, coiled.short_coils),
    "twists": (nothing, coiled.twists),
    "cornrows": (nothing, coiled.cornrows),
    "locs": (coiled.locs_behind, coiled.locs),
    "long_locs": (coiled.long_locs_behind, coiled.long_locs),
    "afro": (coiled.afro_behind, coiled.afro),
    "small_afro": (coiled.small_afro_behind, coiled.small_afro),
    "puff": (coiled.puff_behind, coiled.drawn_back),
    "two_puffs": (coiled.two_puffs_behind, coiled.two_puffs),
    "braids": (coiled.braids_behind, coiled.braids),
    "braided_bun": (coiled.braided_bun_behind, coiled.drawn_back),
    "curly": (coiled.curly_behind, coiled.curly),
    "curly_bob": (coiled.curly_bob_behind, coiled.curly_bob),
    "curly_top": (nothing, coiled.curly_top),
    "crop": (nothing, straight.crop),
    "side_part": (nothing, straight.side_part),
    "quiff": (nothing, straight.quiff),
    "spiky": (nothing, straight.spiky),
    "undercut": (nothing, straight.undercut),
    "swept": (nothing, straight.swept),
    "tousled": (straight.tousled_behind, straight.tousled),
    "pixie": (nothing, straight.pixie),
    "bob": (straight.bob_behind, straight.bob),
    "long": (straight.long_behind, straight.long),
    "wavy": (straight.wavy_behind, straight.wavy),
    "fringe": (straight.long_behind, straight.fringe),
    "ponytail": (straight.ponytail_behind, straight.ponytail),
    "bun": (straight.bun_behind, straight.bun),
    "side_plait": (nothing, straight.side_plait),
}
