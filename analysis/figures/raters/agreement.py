"""Agreement coefficients with intervals by who is compared; dimensions in panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError

from ...vocabulary import AGAIN
from ..drawable import Drawable
from ..labels import LabelKey, display_order
from .forest import Forest, draw_forest
from .naming import Names, chosen
from .terms import COEFFICIENTS, WEIGHTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL = ("krippendorff", "gwet")
USUAL_WEIGHTS = ("ordinal", "quadratic", "linear", "ratio", "own", "nominal")
MODELS = "model"


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    coefficients: Sequence[str] | None = None,
    weights: str | None = None,
    dimensions: Sequence[str] | None = None,
) -> Figure:
    """Draw coefficients of `agreement`, with bootstrap intervals where there are any."""
    names = Names(labels)
    frame, kinds, weighting = _shown(result, coefficients, weights)
    wanted = chosen(frame["dimension"], dimensions, "dimension")
    frame = frame[frame["dimension"].isin(wanted)]
    low, high, what = _interval(frame, result.settings)
    told = pd.DataFrame(
        {
            "panel": panels_in_words(frame, names),
            "row": compared_in_words(frame, names),
            "series": frame["coefficient"].map(COEFFICIENTS),
            "estimate": frame["estimate"].astype(float),
            "lower": low,
            "upper": high,
        }
    )
    some = WEIGHTS.get(weighting or "", "")
    one = len(kinds) == 1
    subject = COEFFICIENTS[kinds[0]] if one else "Agreement"
    xlabel = ", ".join(filter(None, [subject, some])) + what
    panels = list(dict.fromkeys(told["panel"]))
    forest = Forest(
        told, panels, list(dict.fromkeys(told["row"])), [COEFFICIENTS[kind] for kind in kinds],
        list(range(len(kinds))), xlabel, dict.fromkeys(panels, 0.0) if _reaches_zero(told) else {}, across=3,
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def _shown(
    result: Drawable, coefficients: Sequence[str] | None, weights: str | None
) -> tuple[pd.DataFrame, list[str], str | None]:
    """Rows to draw, their coefficients, and the weights of those that have any."""
    frame = result.frame.assign(dimension=result.frame["dimension"].astype("string").fillna(""))
    there = chosen(frame["coefficient"], coefficients, "coefficient")
    kinds = there if coefficients else [kind for kind in USUAL if kind in there] or there[:1]
    frame = frame[frame["coefficient"].isin(kinds)]
    used = [name for name in display_order(frame["weights"]) if name]
    chosen(frame["weights"], [weights] if weights else None, "weighting")
    weighting = weights or next((name for name in USUAL_WEIGHTS if name in used), None)
    plain = frame["weights"].isna() | (frame["weights"].astype("string").fillna("") == "")
    frame = frame[plain | (frame["weights"] == weighting)]
    frame = frame[frame["estimate"].notna()]
    if frame.empty:
        raise InputError("There is nothing to draw: no such coefficient has a value.")
    found = set(frame["coefficient"])
    return frame, [kind for kind in kinds if kind in found], weighting


def _interval(frame: pd.DataFrame, settings: Mapping[str, Any]) -> tuple[pd.Series[Any], pd.Series[Any], str]:
    level = f"{1 - float(settings.get('alpha', 0.05)):.0%}"
    boot = [frame[name].astype(float) for name in ("boot_lower", "boot_upper")]
    own = [frame[name].astype(float) for name in ("lower", "upper")]
    if not boot[0].notna().any():
        return own[0], own[1], f" ({level} intervals)" if own[0].notna().any() else ""
    cluster = settings.get("cluster")
    clusters = f" by {str(cluster).removesuffix('_id').replace('_', ' ')}" if cluster else ""
    return boot[0], boot[1], f" ({level} bootstrap intervals{clusters})"


def _reaches_zero(told: pd.DataFrame) -> bool:
    return bool(told[["estimate", "lower"]].min().min() < 0.15)


def panels_in_words(frame: pd.DataFrame, names: Names) -> list[str]:
    """Dimension and stratum of each row, empty where there is one dimension without a name."""
    before = list(frame.columns)[: list(frame.columns).index("dimension")]
    keys = ["dimension", *map(str, before)]
    parts = [names.all(key, frame[key].astype("string").fillna("")) for key in keys]
    return [", ".join(filter(None, row)) for row in zip(*parts, strict=True)]


def compared_in_words(frame: pd.DataFrame, names: Names) -> list[str]:
    """Who is compared in each row of a table of `agreement`."""
    told = []
    for among, against in zip(frame["among"], frame["against"], strict=True):
        if str(among).endswith(AGAIN):
            told.append(f"{names.of('group', str(among).removesuffix(AGAIN))}, each with themselves")
            continue
        one = "Models" if among == MODELS else names.of("group", among)
        if pd.isna(against) or not against:
            told.append(f"{one} among themselves" if among != one else f"{one}, repeated")
        else:
            told.append(f"{one} with {names.of('group', against)}")
    return told


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the first coefficient that is drawn, by dimension and who is compared."""
    names = Names(labels)
    frame, kinds, weighting = _shown(result, None, None)
    frame = frame[frame["coefficient"] == kinds[0]]
    low, high, _ = _interval(frame, result.settings)
    told: dict[str, list[str]] = {}
    rows = zip(
        panels_in_words(frame, names),
        compared_in_words(frame, names),
        frame["estimate"],
        low,
        high,
        strict=True,
    )
    for panel, row, estimate, lower, upper in rows:
        bounds = f" [{lower:.2f}, {upper:.2f}]" if pd.notna(lower) else ""
        told.setdefault(panel, []).append(f"{row} {estimate:.2f}{bounds}")
    head = COEFFICIENTS[kinds[0]] + (f" ({WEIGHTS[weighting]})" if weighting else "")
    parts = [
        f"{panel}: {'; '.join(each)}." if panel else f"{'; '.join(each)}." for panel, each in told.items()
    ]
    return " ".join([f"{head}.", *parts])
