"""Whether a sampler's draws can be trusted, and whether the model could have made the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import bdtrc

from ...figures.labels import level_at
from ...frames.notes import Note, name_keys
from ...frames.rounding import rounded
from ...numerics.intervals import draw_limits
from ...numerics.types import Codes, Floats
from .posterior_sampling import library

RHAT = 1.01  # this and 400 effective draws are the limits of Vehtari et al. (2021)
ESS = 400.0
LOW_BFMI = 0.3  # below which Stan's diagnosis warns
HIGHER = (0.95, 0.99)  # target acceptance that is advised, one after the other
PRIORS_OPTION = "(`--prior NAME=NUMBERS`, in Python `priors=`)"
UNLIKELY = 0.01  # probability by chance below which too many numbers lie outside the replications


@dataclass(frozen=True)
class SamplerState:
    """What the sampler itself noticed."""

    chains: int
    draws: int  # Per chain, without those of tuning
    divergences: int  # Draws at which the trajectory could not be followed
    saturated: int  # Draws whose trajectory was cut at the greatest tree depth
    bfmi: float  # Least Bayesian fraction of missing information of a chain
    seconds: float  # Compiling and sampling
    sampler: str
    # Acceptance rate that the steps were adapted to; missing for samplers without one
    target_accept: float = float("nan")


class FailedCheck(Note):
    """A sentence of a verdict that reports a failed check."""


def sampler_state(data: Any) -> SamplerState:
    """Count divergences and the like in draws of ``sampling.sample``."""
    stats = data["sample_stats"]
    cut = "maxdepth_reached" if "maxdepth_reached" in stats else "reached_max_treedepth"
    energy = np.asarray(stats["energy"], dtype=float)
    spread = energy.var(axis=1)
    change = np.square(np.diff(energy, axis=1)).mean(axis=1)
    attributes = data["posterior"].attrs
    return SamplerState(
        chains=int(stats.sizes["chain"]),
        draws=int(stats.sizes["draw"]),
        divergences=int(np.asarray(stats["diverging"]).sum()),
        saturated=int(np.asarray(stats[cut]).sum()) if cut in stats else 0,
        bfmi=float(np.min(change / np.where(spread > 0, spread, np.nan))),
        seconds=float(attributes.get("conjury_seconds", np.nan)),
        sampler=str(attributes.get("conjury_sampler", "")),
        target_accept=float(attributes.get("conjury_target_accept", np.nan)),
    )


def convergence(values: Floats) -> pd.DataFrame:
    """Rank-normalised split R-hat and effective sample sizes of several quantities."""
    stats = library("arviz_stats.base").array_stats
    moved = np.ptp(values, axis=(0, 1)) > 0
    statistics = np.full((3, values.shape[2]), np.nan)
    if moved.any():
        some = np.moveaxis(values[:, :, moved], 2, 0)
        axes = {"chain_axis": 1, "draw_axis": 2}
        statistics[0, moved] = stats.rhat(some, method="rank", **axes)
        statistics[1, moved] = stats.ess(some, method="bulk", **axes)
        statistics[2, moved] = stats.ess(some, method="tail", prob=(0.05, 0.95), **axes)
    return pd.DataFrame(dict(zip(("rhat", "ess_bulk", "ess_tail"), statistics, strict=True)))


def posterior_table(keys: pd.DataFrame, values: Floats, alpha: float = 0.05) -> pd.DataFrame:
    """Summarise draws of Q quantities as a tidy table."""
    flat = values.reshape(-1, values.shape[2])
    lower, upper = draw_limits(flat, alpha)
    numbers = pd.DataFrame(
        {"estimate": flat.mean(0), "std_error": flat.std(0, ddof=1), "lower": lower, "upper": upper}
    )
    return pd.concat([keys.reset_index(drop=True), numbers, convergence(values)], axis=1)


def named_draws(data: Any, names: Iterable[str] | None = None) -> tuple[list[str], Floats]:
    """All numbers of the posterior by name, such as ``severity[ann]``, and their draws."""
    posterior = data["posterior"]
    labels: list[str] = []
    parts = []
    for name in names if names is not None else posterior.data_vars:
        column = posterior[name]
        values = np.asarray(column, dtype=float)
        parts.append(values.reshape(*values.shape[:2], -1))
        indexes = [[str(key) for key in np.asarray(column[dim])] for dim in column.dims[2:]]
        labels += [f"{name}[{', '.join(key)}]" for key in product(*indexes)] if indexes else [str(name)]
    return labels, np.concatenate(parts, axis=2)


def diagnostics(data: Any, names: Iterable[str] | None = None) -> pd.DataFrame:
    """R-hat and effective sample sizes of the posterior's own variables."""
    labels, values = named_draws(data, names)
    return pd.concat([pd.DataFrame({"parameter": labels}), convergence(values)], axis=1)


def verdict(
    quantities: pd.DataFrame, state: SamplerState, *, name: str | Sequence[str] | None = None
) -> tuple[str, ...]:
    """State in plain sentences whether the draws can be used, and what to do where they cannot."""
    columns = [quantities.columns[0]] if name is None else [name] if isinstance(name, str) else list(name)
    labels = _names_of(quantities[columns])
    return (
        _note_on_rhat(quantities["rhat"], labels, state),
        _note_on_ess(quantities, labels),
        *_notes_on_trajectories(state),
    )


def _names_of(keys: pd.DataFrame) -> list[Note]:
    """Names of quantities, as parts of notes, from the columns that name them."""
    return [name_keys(row, " ") for row in keys.astype("string").fillna("").to_dict("records")]


def _note_on_rhat(rhat: pd.Series[Any], labels: Sequence[Note], state: SamplerState) -> str:
    high = (rhat > RHAT).to_numpy(dtype=bool)
    worst = labels[int(rhat.argmax())] if rhat.notna().any() else Note("")
    if state.chains < 2:
        return FailedCheck("There is one chain, so convergence cannot be assessed; sample two or more.")
    if not high.any():
        most = rounded(rhat.max(), 3, RHAT)
        return f"{state.chains} chains of {state.draws:,} draws agree: R-hat is at most {most}."
    return FailedCheck.of(
        "The chains do not agree yet on {n:,} of {total:,} quantities (R-hat up to {most}, at {quantity}; it "
        "should be below {limit}): sample longer, with more tuning (`--tune` and `--draws`, in Python "
        "`tune=` and `draws=`), before using any of these results.",
        n=high.sum(),
        total=len(rhat),
        most=rounded(rhat.max(), 3, RHAT),
        quantity=worst,
        limit=RHAT,
    )


def _note_on_ess(quantities: pd.DataFrame, labels: Sequence[Note]) -> str:
    bulk, tail = quantities["ess_bulk"], quantities["ess_tail"]
    if bulk.min() > ESS and tail.min() > ESS:
        return (
            f"There are enough draws: bulk effective sample sizes of {bulk.min():,.0f} or more, in the tails "
            f"{tail.min():,.0f} or more."
        )
    where, least = ("tails", tail) if tail.min() < bulk.min() else ("bulk", bulk)
    lowest = labels[int(least.argmin())]
    n_low = int(((bulk <= ESS) | (tail <= ESS)).sum())
    return FailedCheck.of(
        "{n:,} of {total:,} quantities have fewer than {enough} effective draws (least {least}, in the "
        "{where} of {quantity}): their intervals are imprecise; increase the number of draws (`--draws`, in "
        "Python `draws=`).",
        n=n_low,
        total=len(bulk),
        enough=f"{ESS:,.0f}",
        least=f"{least.min():,.0f}",
        where=where,
        quantity=lowest,
    )


def _notes_on_trajectories(state: SamplerState) -> list[str]:
    notes: list[str] = []
    total = state.chains * state.draws
    if state.divergences:
        notes.append(
            FailedCheck(
                f"{state.divergences:,} of {total:,} draws diverged: the sampler could not explore part of "
                f"the posterior, and estimates may be biased; {_after_divergences(state.target_accept)}"
            )
        )
    if state.saturated:
        notes.append(
            FailedCheck(
                f"{state.saturated:,} of {total:,} trajectories reached the maximum tree depth: estimates "
                "are valid, but sampling is slow; increase the number of tuning draws (`--tune`, in Python "
                "`tune=`)."
            )
        )
    if state.bfmi < LOW_BFMI:
        notes.append(
            FailedCheck(
                f"The energy mixes slowly (BFMI {rounded(state.bfmi, 2, LOW_BFMI)}, should be above "
                f"{LOW_BFMI}): the tails may "
                f"not be explored; use narrower priors for standard deviations {PRIORS_OPTION}."
            )
        )
    return notes or ["No draw diverged, and no trajectory was truncated."]


def _after_divergences(target: float) -> str:
    """What to do about divergences, given the acceptance rate that was aimed at."""
    higher = next((rate for rate in HIGHER if not target >= rate), None)
    if higher is None:
        return f"the target acceptance was {target:g} already, so use narrower priors {PRIORS_OPTION}."
    return (
        f"sample again with `--target-accept {higher:g}` (in Python `target_accept={higher:g}`), or use "
        f"narrower priors {PRIORS_OPTION}."
    )


def frequency_check(
    observed: Codes,
    replicated: Codes,
    categories: Sequence[Any],
    keys: pd.DataFrame | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Compare how often each category occurs with how often the model makes it."""
    if keys is None:
        group, index = np.zeros(len(observed), dtype=int), None
    else:
        grouped = keys.groupby(list(keys.columns), sort=False, observed=True)
        group = grouped.ngroup().to_numpy(dtype=int)
        index = keys.drop_duplicates().reset_index(drop=True)
    cells, width = int(group.max()) + 1, len(categories)
    count = np.bincount(group, minlength=cells)
    observed_shares = _shares(group, observed, count, width)
    replicated_shares = np.stack([_shares(group, codes, count, width) for codes in replicated])
    lower, upper = draw_limits(replicated_shares, alpha)
    tail = (replicated_shares > observed_shares).mean(axis=0) + 0.5 * (
        replicated_shares == observed_shares
    ).mean(axis=0)
    numbers = {
        "observed": observed_shares,
        "expected": replicated_shares.mean(axis=0),
        "lower": lower,
        "upper": upper,
        "tail": tail,
    }
    table = pd.DataFrame({name: values.reshape(-1) for name, values in numbers.items()})
    table.insert(0, "category", list(categories) * cells)
    table["n_ratings"] = np.repeat(count, width)
    if index is not None:
        table = pd.concat([index.loc[index.index.repeat(width)].reset_index(drop=True), table], axis=1)
    return table


def statistic_check(
    keys: pd.DataFrame, observed: Floats, replicated: Floats, alpha: float = 0.05
) -> pd.DataFrame:
    """Compare q statistics of the data, described by ``keys``, with those of R replications, shape (R, q)."""
    rows = []
    for value, column in zip(observed, replicated.T, strict=True):
        replications = column[np.isfinite(column)]
        ends = draw_limits(replications, alpha)
        tail = (
            (replications > value).mean() + 0.5 * (replications == value).mean()
            if len(replications)
            else np.nan
        )
        rows.append((value, replications.mean() if len(replications) else np.nan, *ends, tail))
    numbers = pd.DataFrame(rows, columns=["observed", "expected", "lower", "upper", "tail"])
    return pd.concat([keys.reset_index(drop=True), numbers], axis=1)


def named_statistic_check(
    observed: Mapping[str, float], replicated: Sequence[Mapping[str, float]], alpha: float = 0.05
) -> pd.DataFrame:
    """``statistic_check`` of statistics by name, in a column ``statistic``."""
    names = list(observed)
    replications = np.array([[statistics[name] for name in names] for statistics in replicated], dtype=float)
    values = np.array(list(observed.values()), dtype=float)
    return statistic_check(pd.DataFrame({"statistic": names}), values, replications, alpha)


def sentence_on_fit(check: pd.DataFrame, what: str, alpha: float = 0.05) -> str:
    """State in one sentence how many observed numbers lie outside what the model makes."""
    outside = (check["observed"] < check["lower"]) | (check["observed"] > check["upper"])
    expected = round(alpha * len(check))
    if not outside.any():
        return f"All {len(check):,} {what} are within {level_at(alpha)} of the replications."
    first = list(check.columns).index("observed")
    count = int(outside.sum())
    unlikely = bdtrc(count - 1, len(check), alpha) < UNLIKELY
    return (FailedCheck if unlikely else Note).of(
        "Of {total:,} {what}, {n:,} {are} outside the {level_of_intervals} of the replications (about "
        "{expected:,} expected): {names:4}.",
        total=len(check),
        what=what,
        n=count,
        are="is" if count == 1 else "are",
        level_of_intervals=level_at(alpha),
        expected=expected,
        names=_names_of(check.loc[outside, check.columns[:first]]),
    )


def _shares(group: Codes, category: Codes, count: Codes, width: int) -> Floats:
    """Share of each category in each group, shape (cells, K)."""
    counted = np.bincount(group * width + category, minlength=len(count) * width)
    return np.asarray(counted.reshape(-1, width) / np.maximum(count, 1)[:, None], dtype=float)
