"""The same effects under every choice of errors, from independent rows to stimuli that are random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.tables.frames import any_frame

from ...frames.cells import without_repeats
from ...frames.notes import note_under, noted_warnings
from ...frames.variables import Formula
from ...numerics.intervals import check_alpha
from ...results import Result
from ..engines.few_clusters import FewClusters
from ..estimates import Estimates
from ..verbs.amce import amce
from .mixed_effects import mixed
from .resample import bootstrap
from .wild import wild

WORDS = {"pair_id": "pair", "judge_id": "respondent"}
NUMBERS = ["estimate", "std_error", "df", "lower", "upper"]


@dataclass(frozen=True)
class _ErrorChoice:
    """One way to get errors: its name in words, what it clusters by, and the fit."""

    words: str
    clusters: tuple[str, ...]
    method: str
    fit: Callable[[], Estimates]


@any_frame
def errors_under_choices(
    choices: pd.DataFrame,
    formula: str | Formula,
    *,
    pair: str = "pair_id",
    stimuli: Sequence[str] = ("text", "user"),
    slopes: str | None = None,
    draws: int = 999,
    seed: int | None = None,
    alpha: float = 0.05,
    progress: Callable[[str], None] | None = None,
) -> Result:
    """Estimate AMCEs once and their errors under every choice of clusters that the data allow.

    Errors by respondent or pair hold for other people, or other pairs, of the same stimuli. Where a
    level is shown through a few texts or user profiles that stand for many, these are a random factor
    too, and errors that omit them are too small.

    Parameters
    ----------
    choices : DataFrame
        One row per profile; repeats are excluded, as in `amce`.
    formula : str
        ``outcome ~ a + b``.
    pair : str
        Column of independent observations: ``judge_id`` for people, ``pair_id`` for a model.
    stimuli : sequence of str
        Columns of stimuli, the first of which also gets CR1 and the wild cluster bootstrap.
    slopes : str, optional
        Feature whose effects may differ between values of the first stimulus in the mixed model.
    draws : int
        Draws of the wild cluster and of the pigeonhole bootstrap.
    seed : int, optional
        Seed of both bootstraps.
    alpha : float
        One minus the confidence level of all intervals.
    progress : callable, optional
        Called with what starts next.

    Returns
    -------
    Result
        One row per effect and choice: ``feature, level, choice`` (in words, in the order of the
        choices), ``clusters`` (columns, joined by ", "; empty for independent rows), ``method``
        (HC0, survey, CR1, CR2, wild, pigeonhole, mixed), ``n_clusters`` (of the smallest factor),
        ``estimate, std_error, df`` (missing for normal and bootstrap intervals), ``lower, upper``
        and ``ratio`` of the standard error to that of independent rows. The wild bootstrap has an
        interval but no standard error of its own. ``notes`` list excluded choices and warnings.

    Raises
    ------
    InputError
        When effects cannot be estimated at all. A choice that cannot be computed is excluded, with a note.

    References
    ----------
    Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2011). Robust inference with multiway clustering.
    Journal of Business & Economic Statistics 29(2), 238-249. doi:10.1198/jbes.2010.07136

    Clark, H. H. (1973). The language-as-fixed-effect fallacy. Journal of Verbal Learning and Verbal
    Behavior 12(4), 335-359. doi:10.1016/S0022-5371(73)80014-3

    Examples
    --------
    >>> data = pd.DataFrame({"chosen": [0, 1, 0, 1, 1, 0, 1, 1] * 4, "tone": ["kind", "rude"] * 16,
    ...                      "pair_id": [i // 2 for i in range(32)],
    ...                      "text": [f"text_{i // 4}" for i in range(32)]})
    >>> found = errors_under_choices(data, "chosen ~ tone", stimuli=["text"], draws=99, seed=1)
    >>> found.frame["choice"].tolist()[:4]
    ['rows (HC0)', 'pair (survey)', 'text (CR1)', 'text (CR2)']
    """
    check_alpha(alpha)
    choices = without_repeats(choices)
    columns = [name for name in stimuli if name in choices and choices[name].notna().any()]
    notes = [
        f"There is no column {name!r}, so standard errors by it are not estimated."
        for name in stimuli
        if name not in columns
    ]
    frames: list[pd.DataFrame] = []
    for choice in _choices(choices, formula, pair, columns, slopes, draws, seed, alpha):
        if progress is not None:
            progress(choice.words)
        with noted_warnings(FewClusters) as warned:
            try:
                fit = choice.fit()
                frames.append(_tidy(choice, fit))
                notes += [note_under({"choice": choice.words}, note) for note in fit.notes]
            except (InputError, MissingDependency) as error:
                if not frames:
                    raise
                notes.append(f"{choice.words} was excluded: {error}")
        notes += [note_under({"choice": choice.words}, note) for note in warned]
    settings = {"formula": str(formula), "pair": pair, "stimuli": columns, "slopes": slopes}
    return Result(
        _stacked(frames),
        "errors_under_choices",
        tuple(dict.fromkeys(notes)),
        settings | {"draws": draws, "seed": seed, "alpha": alpha},
    )


def _choices(
    data: pd.DataFrame,
    formula: str | Formula,
    pair: str,
    stimuli: Sequence[str],
    slopes: str | None,
    draws: int,
    seed: int | None,
    alpha: float,
) -> Iterator[_ErrorChoice]:
    """Choices from independent rows to everything random, as far as there are columns for them."""

    def clustered(names: Sequence[str], vcov: Any) -> _ErrorChoice:
        words = " + ".join(WORDS.get(name, name) for name in names) or "rows"
        fit = partial(amce, data, formula, id=list(names) or None, vcov=vcov, alpha=alpha)
        return _ErrorChoice(f"{words} ({vcov})", tuple(names), vcov, fit)

    yield clustered([], "HC0")
    yield clustered([pair], "survey")
    if not stimuli:
        return
    first, label = stimuli[0], " + ".join(stimuli)
    yield clustered([first], "CR1")
    for name in stimuli:
        yield clustered([name], "CR2")
    yield _ErrorChoice(
        f"{first} (wild bootstrap)",
        (first,),
        "wild",
        lambda: wild(amce(data, formula, id=first, vcov="CR1", alpha=alpha), draws=draws, seed=seed),
    )
    if len(stimuli) > 1:
        yield clustered(stimuli, "CR1")
    yield clustered([pair, *stimuli], "CR1")
    if len(stimuli) > 1:
        pigeonhole = partial(bootstrap, unit=list(stimuli), draws=draws, seed=seed, alpha=alpha)
        yield _ErrorChoice(
            f"{label} (pigeonhole)", tuple(stimuli), "pigeonhole", lambda: pigeonhole(amce, data, formula)
        )
    random = [*stimuli, *([f"{first}:{slopes}"] if slopes else [])]
    yield _ErrorChoice(
        f"{label} (mixed model)", tuple(random), "mixed", lambda: mixed(data, formula, random, alpha=alpha)
    )


def _tidy(choice: _ErrorChoice, fit: Estimates) -> pd.DataFrame:
    """The rows of a fit that have an interval, with the choice in words."""
    frame = fit.frame[fit.frame["lower"].notna()].reset_index(drop=True)
    numbers = {name: frame[name].astype(float) if name in frame else float("nan") for name in NUMBERS}
    if choice.method == "wild":
        numbers["std_error"] = float("nan")
    made_by = fit.provenance
    keys: pd.DataFrame = frame[["feature", "level"]]
    return keys.assign(
        choice=choice.words,
        clusters=", ".join(choice.clusters),
        method=choice.method,
        n_clusters=pd.array([made_by.n_clusters or made_by.extra.get("n_units")] * len(frame), dtype="Int64"),
        **numbers,
    )


def _stacked(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    stacked = pd.concat(frames, ignore_index=True)
    order = list(dict.fromkeys(stacked["choice"]))
    base = frames[0].set_index(["feature", "level"])["std_error"]
    keys = pd.MultiIndex.from_frame(stacked[["feature", "level"]])
    return stacked.assign(
        choice=pd.Categorical(stacked["choice"], categories=order, ordered=True),
        ratio=stacked["std_error"].to_numpy() / base.reindex(keys).to_numpy(),
    )
