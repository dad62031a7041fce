"""Paired differences between judges, or between what they were shown, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..drawable import Drawable
from ..labels import LabelKey
from ..raters.forest import Forest, draw_forest
from ..raters.naming import Names
from .curves import level_of
from .matrix import MOST_JUDGES, draw_matrices, matrix_of
from .panels import in_order, intervals_of, names_of_judges, panels_in_words, strata_of
from .robustness import shown_metric
from .terms import metric_in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOLDS, OPEN = "Differs, adjusted p below alpha", "No difference shown"
JUDGES = "judge"


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    metric: str | None = None,
) -> Figure:
    """Draw `differences`: a panel for each task and stratum, a row for each pair.

    More than eight judges are drawn as matrices of judges by judges.
    """
    names = Names(labels)
    frame, kind = shown_metric(result, metric)
    frame = one_test(frame)
    frame, panels = pairs_placed(frame, result.settings, names)
    if of_many_judges(frame, result.settings):
        holds = [state == HOLDS for state in _states(frame, result.settings)]
        what = metric_in_words(kind)
        return draw_matrices(frame, holds, panels, names, what, theme=theme, title=title)
    told = pd.DataFrame(
        {
            "panel": frame["_where"],
            "row": pairs_in_words(frame, result.settings, names),
            "series": _states(frame, result.settings),
            **intervals_of(frame),
        }
    )
    series = [name for name in (HOLDS, OPEN) if name in set(told["series"])]
    level = level_of(result.settings)
    colors = [(HOLDS, OPEN).index(name) for name in series]
    forest = Forest(
        told, panels, list(dict.fromkeys(told["row"])), series, colors,
        f"{metric_in_words(kind)}: the first minus the second, same items ({level} intervals)",
        dict.fromkeys(panels, 0.0), dodged=False,
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def of_many_judges(frame: pd.DataFrame, settings: Mapping[str, Any]) -> bool:
    """Whether so many judges are compared that their pairs make a matrix."""
    between = str(settings.get("between", JUDGES))
    judges = set(frame["left"].astype(str)) | set(frame["right"].astype(str))
    return between == JUDGES and len(judges) > MOST_JUDGES


def beside_the_best(frame: pd.DataFrame) -> pd.DataFrame:
    """Of pairs in places (``_where``), those of the judge with the highest mean, who comes first."""
    kept = []
    for _, own in frame.groupby("_where", sort=False):
        best = matrix_of(own, [False] * len(own)).judges[0]
        back = own[own["right"].astype(str) == best]
        back = back.assign(
            left=back["right"], right=back["left"], estimate=-back["estimate"], lower=-back["upper"],
            upper=-back["lower"],
        )  # fmt: skip
        kept.append(pd.concat([own[own["left"].astype(str) == best], back]).sort_index())
    return pd.concat(kept)


def one_test(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of the first test of each pair and task."""
    keys = [name for name in frame.columns if name in ("left", "right", "judge", "prompt", "task", "metric")]
    if "test" not in frame:
        return frame
    first = frame.groupby(keys, sort=False, observed=True)["test"].transform("first")
    return frame[frame["test"] == first]


def pairs_placed(
    frame: pd.DataFrame, settings: Mapping[str, Any], names: Names
) -> tuple[pd.DataFrame, list[str]]:
    """Add to each row its task, stratum and, of several, prompt in words (``_where``); and all places."""
    where = ["task", *strata_of(settings, frame)]
    if "prompt" in frame and (frame.groupby(where, observed=True)["prompt"].nunique() > 1).any():
        where = ["prompt", *where]
    told = frame.rename(columns={"prompt": "prompts"})
    where = ["prompts" if name == "prompt" else name for name in where]
    told = told.assign(_where=panels_in_words(told, where, names))
    return told, in_order(told["_where"], told, where)


def pairs_in_words(
    frame: pd.DataFrame, settings: Mapping[str, Any], names: Names, sign: str = " \N{MINUS SIGN} "
) -> list[str]:
    """What is compared in each row: two judges, or one judge under two conditions."""
    between = str(settings.get("between", JUDGES))
    if between == JUDGES:
        left, right = (names_of_judges(frame[side], names) for side in ("left", "right"))
    else:
        left, right = (frame[side].map(lambda name: names.of(between, name)) for side in ("left", "right"))
    pairs = [f"{one}{sign}{two}" for one, two in zip(left, right, strict=True)]
    if between == JUDGES or "judge" not in frame:
        return pairs
    return [
        f"{judge}: {pair}" for judge, pair in zip(names_of_judges(frame["judge"], names), pairs, strict=True)
    ]


def _states(frame: pd.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    alpha = float(settings.get("alpha", 0.05))
    p = frame["p_adjusted"] if "p_adjusted" in frame else frame["p"]
    return [HOLDS if value < alpha else OPEN for value in p]


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say how many pairs differ, and the largest difference, by task and stratum."""
    names = Names(labels)
    frame, kind = shown_metric(result, None)
    frame = one_test(frame)
    frame, places = pairs_placed(frame, result.settings, names)
    frame = frame.assign(
        _pair=pairs_in_words(frame, result.settings, names),
        _holds=[state == HOLDS for state in _states(frame, result.settings)],
    )
    told = [f"Paired differences in {metric_in_words(kind).lower()}."]
    for place in places:
        own = frame[frame["_where"] == place]
        row = own.iloc[int(own["estimate"].abs().to_numpy(float).argmax())]
        told.append(
            (f"{place}: " if place else "")
            + f"{int(own['_holds'].sum())} of {len(own)} pairs differ; largest: {row['_pair']} "
            f"{row['estimate']:+.2f} [{row['lower']:.2f}, {row['upper']:.2f}]."
        )
    return " ".join(told)
