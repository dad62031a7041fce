"""Estimates corrected for answers that depart from a judge's own stable pick."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..results import Estimates, row_labels, stack, tidy
from .agreement import Swapping, sign_test, swapping, wilson
from .attenuation import Pieces, Taus, covariance_with_coef, joint_vcov, undo
from .engines.solution import infer
from .plan import Plan
from .reliability import Reliability
from .repeats import SWAPPED, find_repeats, first_answers, presentations
from .request import Request
from .run import estimate
from .source import Data, frame_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Correct = float | str | Reliability
FROM_REPEATS, BY_LEVEL, BY_GROUP = "reliability", "by_level", "by_group"
MINIMUM = 100
_POOLED = "all"
_KEYS = ["judge_id", "prompt_id", "pair_id"]


@dataclass(frozen=True)
class Corrected(Estimates):
    """Estimates corrected for swapping errors.

    ``frame`` and ``vcov`` are corrected; their errors hold those of the swapping errors and the
    covariance between the two, clusters in common. ``fitted`` is None: further contrasts
    would not be corrected, and are to be had from ``uncorrected``.

    Attributes
    ----------
    uncorrected : Estimates
        The same rows as observed, from first answers.
    tau : DataFrame
        The swapping errors: ``group`` ("all", a level as "feature=level", or a group), ``tau``,
        ``std_error``, ``agreement``, ``n_compared``, ``n_units``.
    """

    uncorrected: Estimates = field(kw_only=True)
    tau: pd.DataFrame = field(kw_only=True)

    @property
    def beside(self) -> pd.DataFrame:
        """Observed and corrected rows under each other, told apart by a first column ``source``."""
        tables = {"observed": self.uncorrected.frame, "corrected": self.frame}
        both = stack([frame.assign(source=name) for name, frame in tables.items()])
        return both[["source", *both.columns.drop("source")]]

    def plot(self, **options: Any) -> Figure:
        """Draw corrected beside observed estimates; options as in ``figures.reliability.corrected_plot``."""
        from ..figures.reliability import corrected_plot

        return corrected_plot(self, **options)


@dataclass(frozen=True)
class _Errors:
    """Swapping errors of T groups of repeats, the influence of P repeats on each, and clusters."""

    found: list[Swapping]
    names: list[str]
    influence: np.ndarray
    cluster_of_pair: np.ndarray
    cluster_of_row: np.ndarray
    n_clusters: int


def estimate_corrected(request: Request, data: Data, correct: Correct) -> Corrected:
    """Estimate what a request asks for from first answers, and correct it as ``correct`` says."""
    if request.engine == "cregg" or request.family != "gaussian":
        raise InputError("correct= undoes shares and differences of shares; leave out engine and family.")
    if request.verb not in ("amce", "mm", "amce_diffs", "mm_diffs"):
        raise InputError(f"{request.verb} takes no 'correct'; use amce, mm, amce_diffs or mm_diffs.")
    choices = _whole(request, data)
    first = first_answers(choices)
    observed = estimate(request, first)
    if observed.fitted is None:
        raise InputError(f"Engine {request.engine!r} leaves no regressions; use engine='native'.")
    plan = observed.fitted.plan
    if isinstance(correct, bool) or not isinstance(correct, Real | str | Reliability):
        raise InputError(f"correct is {correct!r}; give 'reliability', a tau, or a result of reliability.")
    if isinstance(correct, Real):
        pieces, taus = _known(plan, float(correct))
        table = _known_table(float(correct))
    else:
        pairs = _pairs(choices, first, request, correct)
        names, masks, number = _groups(correct, plan, pairs, choices)
        errors = _errors(plan, first, pairs, names, masks)
        pieces = _pieces(plan, number, split=correct == BY_GROUP)
        taus, table = _taus(plan, errors), _table(errors)
    return _assemble(observed, pieces, taus, table)


def _whole(request: Request, data: Data) -> pd.DataFrame:
    """The table with all columns: repeats are known by columns that no formula names."""
    if isinstance(data, str | Path):
        from conjury.inference.parquet import read_parquet

        return read_parquet(Path(data))
    return frame_of(request, data)


def _known(plan: Plan, tau: float) -> tuple[Pieces, Taus]:
    if not 0 <= tau < 0.5:
        raise InputError(f"correct is {tau:g}; a swapping error lies between 0 and one half, 0.5 excluded.")
    k = plan.contrasts.shape[1]
    pieces = _pieces(plan, np.zeros((1, len(plan.contrasts)), dtype=int), split=False)
    return pieces, Taus(np.array([tau]), np.zeros((1, 1)), np.zeros((k, 1)))


def _known_table(tau: float) -> pd.DataFrame:
    unknown = {"std_error": [0.0], "agreement": [(1 - tau) ** 2 + tau**2]}
    return pd.DataFrame({"group": ["given"], "tau": [tau], **unknown, "n_compared": [0], "n_units": [0]})


def _pairs(choices: pd.DataFrame, first: pd.DataFrame, request: Request, correct: Correct) -> pd.DataFrame:
    """Repeats that tau comes from: of the table itself, or of a result, the judges in the table if it can."""
    if isinstance(correct, Reliability):
        pairs = correct.pairs
        own = presentations(first.assign(_one=1.0), "_one", _attributes(first, request))
        asked = pd.MultiIndex.from_frame(own[["judge", "prompt"]].drop_duplicates())
        inside = pd.MultiIndex.from_frame(pairs[["judge", "prompt"]]).isin(asked)
        pairs = pairs[inside] if inside.any() else pairs
    elif correct in (FROM_REPEATS, BY_LEVEL, BY_GROUP):
        outcome = request.formula.outcome
        pairs = find_repeats(choices, outcome=outcome, features=_attributes(choices, request)).pairs
    else:
        raise InputError(
            f"correct is {correct!r}; give 'reliability', 'by_level', 'by_group', a known tau, or a result "
            "of reliability."
        )
    judges = pairs[["judge", "prompt"]].drop_duplicates()
    if len(judges) > 1 and correct != BY_GROUP:
        warnings.warn(
            f"One tau is pooled over {len(judges)} judges and prompts; correct each alone, or compare "
            "them with correct='by_group'.",
            stacklevel=5,
        )
    _warn_of_position(pairs)
    return pairs.reset_index(drop=True)


def _attributes(choices: pd.DataFrame, request: Request) -> list[str] | None:
    """Attributes that make a profile, where neither profile_id nor categories are there to tell."""
    if "profile_id" in choices and choices["profile_id"].notna().all():
        return None
    named = [name for name in request.formula.features if name not in request.by]
    return None if all(isinstance(choices[n].dtype, pd.CategoricalDtype) for n in named) else named


def _warn_of_position(pairs: pd.DataFrame) -> None:
    swapped = pairs[(pairs["sides"] == SWAPPED) & pairs["same"].notna()]
    if len(swapped) < len(pairs) - pairs["same"].isna().sum():
        return
    lean = swapped["first"] + swapped["again"] - 1
    p = sign_test(lean.groupby(swapped["unit"]).sum().to_numpy())
    kept = 2 * swapped["same"].mean() - 1
    if p < 0.05 and kept > 0:
        excess = np.sqrt(1 + lean.mean() ** 2 / kept) - 1
        warnings.warn(
            f"Repeated answers lean to side {'A' if lean.sum() > 0 else 'B'} (p = {p:.2g}), and swapped "
            f"repeats alone count that as noise: corrected effects are at least {excess:.1%} too large. "
            "Repeats with the sides as before would tell the two apart.",
            stacklevel=6,
        )


def _groups(
    correct: Correct, plan: Plan, pairs: pd.DataFrame, choices: pd.DataFrame
) -> tuple[list[str], list[np.ndarray], np.ndarray]:
    """Names of T groups of repeats, which repeats lie in each (P,), and which one each row takes (J, m)."""
    everything = np.ones(len(pairs), dtype=bool)
    if correct == BY_GROUP:
        return _by_group(plan, pairs, choices, everything)
    if correct == BY_LEVEL:
        return _by_level(plan, pairs, choices, everything)
    return [_POOLED], [everything], np.zeros((1, len(plan.keys)), dtype=int)


def _by_group(
    plan: Plan, pairs: pd.DataFrame, choices: pd.DataFrame, everything: np.ndarray
) -> tuple[list[str], list[np.ndarray], np.ndarray]:
    if len(plan.request.by) != 1 or "by" not in plan.keys:
        raise InputError("correct='by_group' is for amce_diffs and mm_diffs; give 'reliability' here.")
    by = plan.request.by[0]
    shown = [choices[by].iloc[pairs[row].to_numpy()].astype(str).to_numpy() for row in ("row_a", "row_b")]
    others = plan.keys[by].astype(str)
    base = str(plan.keys["by"].iloc[0]).removeprefix(f"{others.iloc[0]} - ")
    levels = [base, *dict.fromkeys(others)]
    masks = [(shown[0] == level) | (shown[1] == level) for level in levels]
    names, masks, place = _with_fallback(levels, masks, pairs, everything)
    number = np.array([np.full(len(others), place[0]), [place[levels.index(own)] for own in others]])
    return names, masks, number


def _by_level(
    plan: Plan, pairs: pd.DataFrame, choices: pd.DataFrame, everything: np.ndarray
) -> tuple[list[str], list[np.ndarray], np.ndarray]:
    """A level's repeats are those whose profiles differ in its feature, one showing it (or the reference)."""
    request, cells = plan.request, plan.cells
    label = {request.label(name): name for name in request.features}
    levels, masks = [], []
    for feature, level in zip(plan.keys["feature"].astype(str), plan.keys["level"].astype(str), strict=True):
        name = label[feature]
        shown = [choices[name].iloc[pairs[row].to_numpy()].astype(str) for row in ("row_a", "row_b")]
        a, b = (values.to_numpy() for values in shown)
        compared = [level] if request.verb.startswith("mm") else [level, str(cells.levels[name][0])]
        masks.append((a != b) & (np.isin(a, compared) | np.isin(b, compared)))
        levels.append(f"{feature}={level}")
    names, masks, place = _with_fallback(levels, masks, pairs, everything)
    return names, masks, np.array([place])


def _with_fallback(
    levels: Sequence[str], masks: Sequence[np.ndarray], pairs: pd.DataFrame, everything: np.ndarray
) -> tuple[list[str], list[np.ndarray], list[int]]:
    """Keep the groups whose repeats suffice; the others take the pooled tau, which comes first."""
    same = pairs["same"].to_numpy()
    names, kept, place, poor = [_POOLED], [everything], [], []
    for level, mask in zip(levels, masks, strict=True):
        own = same[mask & ~np.isnan(same)]
        clear = len(own) >= MINIMUM and wilson(np.array([own.mean()]), np.array([len(own)]), 0.05)[0][0] > 0.5
        if level in names:
            place.append(names.index(level))
        elif clear:
            place.append(len(names))
            names.append(level)
            kept.append(mask)
        else:
            place.append(0)
            poor.append(f"{level} ({len(own)})")
    if poor:
        shown = ", ".join(list(dict.fromkeys(poor))[:8]) + (" and others" if len(set(poor)) > 8 else "")
        warnings.warn(
            f"The pooled tau stands in where fewer than {MINIMUM} repeats are answered twice, or do not "
            f"agree clearly above chance: {shown}.",
            stacklevel=7,
        )
    return names, kept, place


def _errors(
    plan: Plan, first: pd.DataFrame, pairs: pd.DataFrame, names: list[str], masks: list[np.ndarray]
) -> _Errors:
    of_row, of_pair, n = _clusters(plan, first, pairs)
    same, swapped = pairs["same"].to_numpy(), (pairs["sides"] == SWAPPED).to_numpy()
    found = []
    influence = np.zeros((len(pairs), len(masks)))
    for number, (name, mask) in enumerate(zip(names, masks, strict=True)):
        found.append(swapping(same[mask], swapped[mask], of_pair[mask]))
        _check(name, found[-1])
        influence[mask, number] = found[-1].influence
    return _Errors(found, names, influence, of_pair, of_row, n)


def _check(name: str, found: Swapping) -> None:
    which = "" if name == _POOLED else f" of {name}"
    if found.n_units < 2:
        raise InputError(
            f"{found.n_units} repeats{which} with two answers are no basis for a swapping error; give a "
            "known tau as correct=, or collect repeats."
        )
    if not found.agreement > 0.5:
        raise InputError(
            f"Repeated answers{which} agree in {found.agreement:.1%} of cases, no better than chance: "
            "effects cannot be corrected; see reliability() for what the answers follow."
        )
    if found.agreement - 2 * found.agreement_error <= 0.5:
        warnings.warn(
            f"Repeated answers{which} agree in {found.agreement:.1%} of cases, not clearly above chance; "
            "corrected estimates are unstable and their errors too small.",
            stacklevel=6,
        )


def _clusters(plan: Plan, first: pd.DataFrame, pairs: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, int]:
    """Clusters of n rows and of P repeats, and how many there are among the rows.

    The first cluster column that keeps the two profiles of a pair together counts, else
    respondents (for models, pairs). Repeats of pairs that are not in the table are clusters apart.
    """
    outcome = plan.request.formula.outcome
    shown = presentations(first, outcome, _attributes(first, plan.request)) if len(pairs) else pairs
    a, b = shown["row_a"].to_numpy(), shown["row_b"].to_numpy()
    code = shown["unit"].to_numpy()
    for clusters in plan.cells.clusterings.values():
        if (clusters.code[a] == clusters.code[b]).all():
            code = clusters.code[a]
            break
    shown = shown.assign(cluster=np.unique(code, return_inverse=True)[1])
    n = int(shown["cluster"].max()) + 1
    of_row = np.empty(len(first), dtype=np.int64)
    of_row[a] = of_row[b] = shown["cluster"].to_numpy()
    asked = shown.drop_duplicates(_KEYS)
    known = pairs[_KEYS].merge(asked[[*_KEYS, "cluster"]], on=_KEYS, how="left")["cluster"]
    of_unit = known.groupby(pairs["unit"].to_numpy()).transform("first")
    apart = pd.Series(n + np.unique(pairs["unit"], return_inverse=True)[1])
    return of_row, known.fillna(of_unit).fillna(apart).to_numpy(dtype=np.int64), n


def _taus(plan: Plan, errors: _Errors) -> Taus:
    n_codes = int(max(errors.cluster_of_pair.max() + 1, errors.n_clusters))
    summed = np.zeros((n_codes, len(errors.found)))
    np.add.at(summed, errors.cluster_of_pair, errors.influence)
    scale = np.sqrt([found.n_units / (found.n_units - 1) for found in errors.found])
    rows = np.sqrt(errors.n_clusters / (errors.n_clusters - 1))
    with_coef = covariance_with_coef(plan, summed[errors.cluster_of_row]) * scale * rows
    vcov = (summed * scale).T @ (summed * scale)
    return Taus(np.array([found.tau for found in errors.found]), vcov, with_coef)


def _table(errors: _Errors) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "group": errors.names,
            "tau": [found.tau for found in errors.found],
            "std_error": [found.std_error for found in errors.found],
            "agreement": [found.agreement for found in errors.found],
            "n_compared": [found.n_compared for found in errors.found],
            "n_units": [found.n_units for found in errors.found],
        }
    )


def _pieces(plan: Plan, number: np.ndarray, *, split: bool) -> Pieces:
    """A row is one piece, or one of each of its two groups where these have swapping errors of their own."""
    contrasts = np.nan_to_num(plan.contrasts)
    if not split:
        share = np.full(len(contrasts), float(plan.request.verb == "mm"))
        return Pieces(contrasts[None], share[None], number)
    groups = 1 + plan.keys[plan.request.by[0]].nunique()
    first = plan.slices[len(plan.blocks) // groups - 1].stop
    base, other = np.zeros_like(contrasts), contrasts.copy()
    base[:, :first], other[:, :first] = contrasts[:, :first], 0.0
    share = np.full(len(contrasts), float(plan.request.verb == "mm_diffs"))
    return Pieces(np.stack([base, other]), np.stack([-share, share]), number)


def _assemble(observed: Estimates, pieces: Pieces, taus: Taus, table: pd.DataFrame) -> Corrected:
    fitted = observed.fitted
    assert fitted is not None
    plan, made = fitted.plan, observed.provenance
    tested = observed.frame["std_error"].notna().to_numpy()
    slopes = undo(pieces, fitted.solution.coef, taus.value)
    estimate = np.where(observed.frame["estimate"].isna(), np.nan, slopes.estimate)
    scaled = infer(fitted, slopes.by_coef[tested])
    own = replace(slopes, by_coef=slopes.by_coef[tested], by_tau=slopes.by_tau[tested])
    vcov = joint_vcov(scaled.vcov, own, taus)
    std_error, df = np.full((2, len(tested)), np.nan)
    std_error[tested] = np.sqrt(np.clip(np.diag(vcov), 0, None))
    if scaled.df is not None:
        df[tested] = scaled.df
    frame = tidy(plan.keys, estimate, std_error, made.alpha, made.null, None if scaled.df is None else df)
    labels = row_labels(plan.keys[tested])
    value = (
        float(taus.value[0]) if len(taus.value) == 1 else dict(zip(table["group"], table["tau"], strict=True))
    )
    return Corrected(
        frame,
        pd.DataFrame(vcov, index=labels, columns=labels),
        replace(made, extra={**made.extra, "tau": value}),
        uncorrected=observed,
        tau=table,
    )
