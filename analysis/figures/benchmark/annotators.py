"""Agreement of the people behind the gold labels, on every distinction that gold makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import InputError

from ..drawable import Drawable
from ..labels import LabelKey, display_order
from ..raters.forest import Forest, draw_forest
from ..raters.naming import Names
from ..raters.terms import COEFFICIENTS
from .curves import level_of
from .panels import intervals_of, strata_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERSUS = "_vs_"


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw `annotators`: a panel for each distinction, a row for each stratum, a colour for a coefficient."""
    names = Names(labels)
    frame = shown_agreement(result)
    kinds = display_order(frame["coefficient"])
    series = [COEFFICIENTS.get(kind, kind) for kind in kinds]
    told = pd.DataFrame(
        {
            "panel": [distinction_in_words(name, names) for name in frame["dimension"]],
            "row": rows_in_words(frame, result, names),
            "series": frame["coefficient"].map(lambda kind: COEFFICIENTS.get(kind, kind)),
            **intervals_of(frame),
        }
    )
    forest = Forest(
        told, list(dict.fromkeys(told["panel"])), list(dict.fromkeys(told["row"])), series,
        list(range(len(series))),
        f"Agreement of people among themselves ({level_of(result.settings)} intervals)", across=3,
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def shown_agreement(result: Drawable) -> pd.DataFrame:
    """Rows with a value; bootstrap intervals take the place of others where there are any."""
    frame = result.frame[result.frame["estimate"].notna()]
    if frame.empty:
        raise InputError("There is nothing to draw: no coefficient has a value.")
    boot = frame["boot_lower"].notna().to_numpy(dtype=bool)
    return frame.assign(
        lower=frame["boot_lower"].where(boot, frame["lower"]),
        upper=frame["boot_upper"].where(boot, frame["upper"]),
    )


def rows_in_words(frame: pd.DataFrame, result: Drawable, names: Names) -> list[str]:
    """Stratum of each row."""
    by = strata_of(result.settings, frame)
    parts = [names.all(name, frame[name].astype("string").fillna("")) for name in by]
    return [", ".join(row) for row in zip(*parts, strict=True)] if by else ["All items"] * len(frame)


def distinction_in_words(name: object, names: Names) -> str:
    """What a dimension tells apart."""
    text = str(name)
    if VERSUS not in text:
        return names.of("dimension", text)
    first, *others = (names.of("gold", level) for level in text.split(VERSUS))
    return " or ".join([first, *(level[:1].lower() + level[1:] for level in others)])


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say every coefficient, by distinction and stratum."""
    names = Names(labels)
    frame = shown_agreement(result)
    frame = frame.assign(_row=rows_in_words(frame, result, names))
    told = ["Agreement of people."]
    for (dimension, row), own in frame.groupby(["dimension", "_row"], sort=False):
        each = [f"{COEFFICIENTS.get(one['coefficient'], one['coefficient'])} {one['estimate']:.2f}"
                for one in own.to_dict("records")]  # fmt: skip
        told.append(f"{distinction_in_words(dimension, names)}, {row}: {', '.join(each)}.")
    return " ".join(told)
