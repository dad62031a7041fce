"""How choices follow the order of two profiles, and effects by order."""

from __future__ import annotations

from ..dot_marks import PERCENT, POINTS
from ..figure_layout import Drawable
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..interval_dots import LevelPanels, levels, table_of
from ..labels import level_of

SHARE, REPEATED = "First position chosen", "Pairs asked in both orders"
QUANTITIES = {
    "first_share": "All decisions",
    "same_profile": "Same profile both times",
    "always_first": "First position both times",
    "always_second": "Second position both times",
}
VERSIONS = {
    "as shown": "As shown",
    "first position": "Profile in first position",
    "second position": "Profile in second position",
    "average of positions": "Average of both positions",
    "both orders": "Pairs asked in both orders",
}
FACET_NAMES = {
    "prompt_id": "Prompt",
    "option_order": "Order of options",
    "option_labels": "Labels of options",
    "scale_direction": "Direction of the scale",
    "sample": "Sample",
    "parser": "Parsing rule",
    "occasion": "Occasion",
    "pair_kind": "Kind of pair",
    "position": "Position",
    "object": "Object",
    "pair_id": "Pair",
    "item_id": "Item",
}


def facet_in_words(style: FigureStyle, facet: object) -> str:
    """Name of a facet."""
    name = str(facet)
    return style.labels.get(name, FACET_NAMES.get(name) or style.words.feature(name))


def level_label(style: FigureStyle, facet: object, level: object) -> str:
    """Name of a level of a facet."""
    text = str(level)
    return style.names.of("prompts", text) if facet == "prompt_id" else style.words.level(facet, text)


def level_in_words(style: FigureStyle, facet: object, level: object) -> str:
    """Name of a level of a facet, with the facet in front."""
    return f"{facet_in_words(style, facet)}: {level_label(style, facet, level)}"


@figure("order_effects")
def order_effects(result: Drawable, style: FigureStyle) -> Forest:
    """Shares of the first position on the left, and what pairs asked in both orders follow on the right."""
    frame = result.frame[result.frame["quantity"].isin(QUANTITIES)].reset_index(drop=True)
    first = frame["quantity"] == "first_share"
    row = [
        level_in_words(style, record["facet"], record["level"])
        if record["facet"] != "all"
        else QUANTITIES[record["quantity"]]
        for record in frame.to_dict("records")
    ]
    judges = list(dict.fromkeys(frame["judge"]))
    return forest(
        frame,
        panel=[SHARE if is_first else REPEATED for is_first in first],
        row=row,
        series=style.names.all("judge", frame["judge"]),
        order=style.names.all("judge", judges),
        places=style.names.places_of(judges),
        xlabel=f"Choices, {PERCENT} (lines: {level_of(result.settings)} intervals; dashed: no preference for "
        "a position)",
        unit=100.0,
        what="Shares of choices by position",
        baseline={SHARE: 0.5},
    )


@figure("order_effects", part="effects")
def effects_by_order(result: Drawable, style: FigureStyle) -> LevelPanels:
    """AMCEs of one judge as shown, by position, averaged over positions, and from pairs in both orders."""
    frame, words = result.extra["effects"], style.words
    frame = frame[frame["judge"] == frame["judge"].iloc[0]].reset_index(drop=True)
    table = table_of(
        frame,
        [words.feature(name) for name in frame["feature"]],
        words.levels(frame),
        [VERSIONS[name] for name in frame["version"]],
    )
    return levels(
        table,
        xlabel=f"Change in the probability of being chosen, {POINTS} (lines: {level_of(result.settings)} "
        "intervals)",
        unit=100.0,
        what=f"Effects by the order of profiles, {style.names.of('judge', frame['judge'].iloc[0])}",
    )
