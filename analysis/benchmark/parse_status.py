"""What a missing answer counts as: a wrong answer, nothing at all, or what the study states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.frames import any_frame

from ..numerics.types import Codes
from ..results import AnalysisStep, Result, analysis
from .data.units import answers_table, is_surplus

NO_ANSWER = -1  # predicted code of a unit without an answer
WRONG, MISSING, STUDY = "wrong", "missing", "study"
POLICIES = (WRONG, MISSING, STUDY)


def check_policy(policy: Mapping[str, str], classes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return what the statuses of a study count as; InputError for what is no class."""
    meanings = [WRONG, MISSING, *dict.fromkeys(name for names in classes.values() for name in names)]
    for status, meaning in policy.items():
        if meaning not in meanings:
            raise InputError(
                f"policy: '{status}' counts as '{meaning}'{did_you_mean(meaning, meanings)}; use "
                f"{listed(meanings)}."
            )
    return dict(policy)


def check_policies(policies: Sequence[str]) -> tuple[str, ...]:
    """Return the policies that are asked for; InputError for one that does not exist."""
    names = (policies,) if isinstance(policies, str) else tuple(policies)
    for name in names:
        if name not in POLICIES:
            raise InputError(f"missing is '{name}'{did_you_mean(name, POLICIES)}; use {listed(POLICIES)}.")
    return names


def outcome(
    frame: pd.DataFrame, classes: Sequence[str], policy: str, study: Mapping[str, str]
) -> tuple[Codes, NDArray[np.bool_]]:
    """Codes of scored answers under a policy for missing ones, and which of them it keeps."""
    # What `study` says of "JUDGE: STATUS" comes before what it says of the status alone.
    predicted = frame["predicted"].to_numpy(dtype=np.int64)
    none = predicted == NO_ANSWER
    if policy == WRONG or not none.any():
        return predicted, np.ones(len(predicted), dtype=bool)
    if policy == MISSING:
        return predicted, ~none
    judges = as_text(frame["judge"]) if "judge" in frame else ""
    codes, names = pd.factorize((judges + ": " + as_text(frame["status"])).astype(object).to_numpy())
    meaning = [study.get(name, study.get(name.rpartition(": ")[2], MISSING)) for name in names]
    place = {name: code for code, name in enumerate(classes)}
    instead = np.array([place.get(name, NO_ANSWER) for name in meaning], dtype=np.int64)[codes]
    left_out = np.array([name == MISSING for name in meaning])[codes]
    return np.where(none, instead, predicted), ~(none & left_out)


KEYS = ["judge", "prompt", "task"]
UNIT = ["judge", "prompt", "task", "item_id", "line", "sample"]
COMPARED = ("agree", "different", "only_strict", "only_lenient")  # else "neither"


@any_frame
def readings(judgments: pd.DataFrame, lenient: pd.DataFrame | None = None) -> Result:
    """Count the statuses of judgments by judge, prompt, task and rule.

    Parameters
    ----------
    judgments : DataFrame
        The judgments contract, with the column ``rule`` where it is known.
    lenient : DataFrame, optional
        The same answers read by another rule, which is compared with the first.

    Returns
    -------
    Result
        Kind "readings": ``judge, prompt, task, rule, status, n, share, n_surplus``. ``n`` and ``share`` are
        of what was asked for; ``n_surplus``, the same for every status, counts labels of lines beyond those
        that were shown. With a second table its rows are there too, and ``extra["compared"]`` has, but for
        ``n_surplus``, how many judgments the rules read the same way (``agree``), ``different``, by one of
        them only (``only_strict``: the first, ``only_lenient``: the second) or not at all (``neither``).

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j2"],
    ...     "dimension": "harm", "value": ["safe", None], "status": ["ok", "empty"]})
    >>> other = table.assign(value="safe", status="ok")
    >>> found = readings(table, other)
    >>> found.extra["compared"][["status", "n", "share"]].to_numpy().tolist()
    [['agree', 1, 0.5], ['only_lenient', 1, 0.5]]
    """
    tables = [_split_surplus(answers_table(table)) for table in (judgments, lenient) if table is not None]
    frames = [_shares(table, "status").merge(surplus, on=[*KEYS, "rule"]) for table, surplus in tables]
    extra: dict[str, pd.DataFrame] = {}
    notes: tuple[str, ...] = ()
    if len(tables) == 2:
        compared, notes = _compare_rules(*(table for table, _ in tables))
        extra["compared"] = _shares(compared, "status")
    return Result(pd.concat(frames, ignore_index=True), "readings", notes, {}, extra)


def _rule_column(table: pd.DataFrame) -> pd.Series[Any]:
    return as_text(table["rule"]).fillna("") if "rule" in table else pd.Series("", index=table.index)


def _split_surplus(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judgments of what was asked for, and by judge, prompt, task and rule the number of further labels."""
    ruled = table.assign(rule=_rule_column(table), n_surplus=is_surplus(table))
    counted = ruled.groupby([*KEYS, "rule"], sort=False, observed=True)["n_surplus"].sum().reset_index()
    return ruled[~ruled["n_surplus"]], counted


def _compare_rules(strict: pd.DataFrame, lenient: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Each judgment that is in both tables, and how its readings compare."""
    left_side, right_side = (table[[*UNIT, "value", "rule"]] for table in (strict, lenient))
    pairs = left_side.merge(right_side, on=UNIT, suffixes=("", "_lenient"))
    if pairs.empty:
        raise InputError(
            "judgments: the two tables have no judgment in common; give the same answers parsed by two rules."
        )
    first, second = pairs["value"].notna().to_numpy(), pairs["value_lenient"].notna().to_numpy()
    same = (pairs["value"] == pairs["value_lenient"]).fillna(False).to_numpy(dtype=bool)
    status = np.select([first & second & same, first & second, first, second], COMPARED, "neither")
    n = len(left_side) + len(right_side) - 2 * len(pairs)
    notes = (f"{n:,} judgments are in one of the two tables only; they are not compared.",) if n else ()
    rules = [name for name in (pairs["rule"].iloc[0], pairs["rule_lenient"].iloc[0]) if name]
    return pairs.assign(status=status, rule=" and ".join(rules)), notes


def _shares(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    keys = [*KEYS, "rule"]
    counted = frame.groupby([*keys, column], sort=False, observed=True).size().rename("n").reset_index()
    total = counted.groupby(keys, sort=False, observed=True)["n"].transform("sum")
    return counted.assign(share=counted["n"] / total)


@analysis("benchmark", order=10)
def _steps(
    answered: Any, options: Mapping[str, Any]
) -> Iterator[AnalysisStep]:  # Answered, which imports this module
    yield AnalysisStep("readings", "Outcomes of parsing the answers", lambda: readings(*answered.parsed))
