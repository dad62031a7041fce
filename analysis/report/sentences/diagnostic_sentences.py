"""Sentences on checks, reliability, standard errors by stimuli, and minimum detectable effects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.errors import counted

from ...frames.sentences import agreeing, sentence
from ..method_sentences import plain
from ..table_format import number, whole

MOST_NAMED = 5  # judges that a sentence names
COUNTED = {
    "error": ("finds an error", "find errors"),
    "warning": ("gives a warning", "give warnings"),
    "suppressed": ("is suppressed", "are suppressed"),
    "pass": ("passes", "pass"),
    "not_applicable": ("does not apply", "do not apply"),
}


@dataclass(frozen=True)
class VerdictCounts:
    """Numbers of checks, or of published numbers, by verdict."""

    counts: tuple[tuple[str, int], ...]


def count_verdicts(verdict: pd.Series[str], names: Iterable[str]) -> VerdictCounts:
    """Count the verdicts of some names."""
    return VerdictCounts(tuple((name, int((verdict == name).sum())) for name in names))


@sentence
def checks_in_words(values: VerdictCounts) -> str:
    """How many checks have each verdict."""
    total = sum(n for _, n in values.counts)
    texts = [f"{n} {agreeing(n, *COUNTED[name])}" for name, n in values.counts if n]
    return f"Of {counted(total, 'check')}, {', '.join(texts)}." if texts else "There are no checks."


@dataclass(frozen=True)
class RepeatVerdict:
    """A verdict on the repeated answers of some of all judges, each under a prompt."""

    text: str
    names: tuple[str, ...]  # judges with their prompts
    judges: int  # different judges among them
    series: int  # judges with their prompts that have any verdict


@sentence
def reliability_in_words(values: RepeatVerdict) -> str:
    """A verdict, after the judges that have it."""
    n = len(values.names)
    more = [f"{n - MOST_NAMED} more"] if n > MOST_NAMED else []
    named = "; ".join([*values.names[:MOST_NAMED], *more])
    if n == values.series > 2 and values.judges > 1:
        named = f"All {values.judges} judges{' under all their prompts' if values.judges < n else ''}"
    return f"{plain(named)}: {plain(values.text[:1].lower() + values.text[1:])}"


@dataclass(frozen=True)
class Detectability:
    """Numbers of estimates, and of those below the minimum detectable effect by significance."""

    n: int  # estimates with a minimum detectable effect
    insignificant: int
    significant: int


def detectability(frame: pd.DataFrame, tests: pd.DataFrame, alpha: float) -> Detectability:
    """Count small estimates, significant or not by the p values of the main analysis."""
    # Effects without one count as tested by the errors that the minimum detectable effect rests on.
    keys = [name for name in ("judge", "prompt", "variant", "feature", "level") if name in frame]
    size, least = frame["estimate"].abs().to_numpy(float), frame["effect_found"].to_numpy(float)
    critical = ndtri(1 - alpha / 2)
    significant = size * (critical + ndtri(frame["power"].to_numpy(float))) / critical > least
    if "p" in tests and set(keys) <= set(tests):
        rows, p_values = _texts(frame, keys), _texts(tests, keys).assign(p=tests["p"].to_numpy(float))
        p = rows.merge(p_values.drop_duplicates(keys), on=keys, how="left")["p"].to_numpy(float)
        significant = np.where(np.isnan(p), significant, p < alpha)
    small = np.isfinite(size) & np.isfinite(least) & (size < least)
    return Detectability(
        int((np.isfinite(size) & np.isfinite(least)).sum()),
        int((small & ~significant).sum()),
        int((small & significant).sum()),
    )


def _texts(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    return pd.DataFrame({key: frame[key].astype("string").fillna("").to_numpy() for key in keys})


@sentence
def detectability_in_words(values: Detectability) -> str:
    """How many estimates are too small for their tests, and how many of them are significant."""
    if not values.n:
        return "No estimate has a minimum detectable effect."
    if not values.insignificant and not values.significant:
        each = "The estimate" if values.n == 1 else f"Each of the {values.n:,} estimates"
        return f"{each} is at least as large as the minimum detectable effect."
    total, texts = counted(values.n, "estimate"), []
    if n := values.insignificant:
        texts.append(
            f"{n:,} of {total} {agreeing(n, 'is', 'are')} below the minimum detectable effect and not "
            f"significant, so {agreeing(n, 'its', 'their')} non-significance is uninformative."
        )
    if n := values.significant:
        exaggerated = agreeing(
            n, "it probably exaggerates its effect", "they probably exaggerate their effects"
        )
        texts.append(
            f"{n:,} of {total} {agreeing(n, 'is', 'are')} significant though below the minimum detectable "
            f"effect, so {exaggerated}."
        )
    return " ".join(texts)


@dataclass(frozen=True)
class Ratio:
    """A ratio of standard errors, and what it belongs to."""

    value: float
    what: str  # judge, level and choice
    pigeonhole: bool


@dataclass(frozen=True)
class ErrorRatios:
    """The largest ratios of standard errors to those of independent rows, and the fewest clusters."""

    clustered: Ratio | None
    largest: Ratio | None
    fewest: float


def find_largest_ratios(frame: pd.DataFrame, names: pd.Series[str]) -> ErrorRatios:
    """Find the largest ratios, of clustered standard errors and of all."""
    has_ratio = frame["ratio"].notna().to_numpy()
    clustered = has_ratio & frame["method"].isin(["CR1", "CR2"]).to_numpy()
    most = frame.loc[clustered, "n_clusters"].min() if clustered.any() else np.nan
    return ErrorRatios(
        _largest_ratio(frame, names, clustered), _largest_ratio(frame, names, has_ratio), float(most)
    )


def _largest_ratio(frame: pd.DataFrame, names: pd.Series[str], among: np.ndarray) -> Ratio | None:
    if not among.any():
        return None
    at = int(np.where(among, frame["ratio"].to_numpy(float), -np.inf).argmax())
    pigeonhole = str(frame["method"].iloc[at]) == "pigeonhole"
    return Ratio(float(frame["ratio"].iloc[at]), str(names.iloc[at]), pigeonhole)


@sentence
def widest_in_words(values: ErrorRatios) -> str:
    """Name the largest ratios of standard errors, of clustered ones and of all, and the fewest clusters."""
    if values.clustered is None or values.largest is None:
        return "No standard errors are clustered by stimuli."
    first, most = values.clustered, values.largest
    text = f"Among clustered standard errors the largest ratio is {number(first.value, 1)} ({first.what})"
    if most.value > first.value and number(most.value, 1) != number(first.value, 1):
        wide = ", which tends to be too wide" if most.pigeonhole else ""
        text += f"; among all standard errors it is {number(most.value, 1)} ({most.what}){wide}"
    return f"{text}. Clustering by stimuli uses as few as {whole(values.fewest)} of them."
