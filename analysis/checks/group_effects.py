"""Differences of AMCEs between groups of rows as the answer of a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from conjury.inference.errors import counted

from ..conjoint.comparisons.effects_by_group import hotelling_test
from ..frames.notes import Note, join_notes
from ..numerics.intervals import inference
from .judged import JudgedChoices, tidy
from .registry import Check, Question, Verdict, adjusted, highest, level_of, lowest, show_p, who

LARGE = 0.05  # a difference of effects, in choice probability, that changes what a reader concludes


def difference_frame(
    keys: pd.DataFrame, estimate: np.ndarray, vcov: np.ndarray, clusters: int, alpha: float
) -> pd.DataFrame:
    """Lay out r differences with their joint test."""
    joint = hotelling_test(estimate, vcov, clusters)
    std_error = np.sqrt(np.clip(np.diag(vcov), 0, None))
    limits = inference(estimate, std_error, alpha)
    return keys.assign(
        estimate=estimate,
        std_error=std_error,
        **vars(limits),
        f_joint=joint.statistic,
        df_joint=joint.df,
        p_joint=joint.p,
    )


def judge_differences(
    question: Question,
    done: Sequence[tuple[JudgedChoices, pd.DataFrame]],
    notes: Sequence[str],
    alpha: float,
    what: str,
    test: str | None = None,
    remedies: Mapping[str, str] | None = None,
) -> Check:
    """Answer a question from difference frames of judges; ``test`` names the column of further tests."""
    # Joint tests are adjusted over judges and tests. A rejection is a warning; an error needs a difference
    # above 0.05 whose own p survives adjustment over the levels of its panel.
    table = tidy(done)
    keys = ["judge", "prompt", *([test] if test else [])]
    tests = table.drop_duplicates(keys)[[*keys, "p_joint"]].reset_index(drop=True)
    tests["p_joint_adjusted"] = adjusted(tests["p_joint"].to_numpy())
    table = table.merge(tests.drop(columns="p_joint"), on=keys, how="left")
    table["p_adjusted"] = table.groupby(keys, sort=False)["p"].transform(lambda p: adjusted(p.to_numpy()))
    if tests["p_joint"].isna().all():
        return question.not_applicable(
            join_notes([Note.of("There are too few clusters to test {what}.", what=what), *notes])
        )
    worst = lowest(tests, tests["p_joint_adjusted"])
    rejected, tested = tests["p_joint_adjusted"] < alpha, int(tests["p_joint_adjusted"].notna().sum())
    verdict, cause, subject = _gravest_difference(table, alpha)
    largest = highest(cause, cause["estimate"].abs())
    finding = Note.of(
        "{n} of {tests} {what}; smallest adjusted {p}{test}, {who}. {largest} is {estimate:+.3f} ({level}, "
        "{who2}; {p_of_level} adjusted over its levels).",
        n=int(rejected.sum()),
        tests=counted(tested, "joint test finds", "joint tests find"),
        what=what,
        p=show_p(float(worst["p_joint_adjusted"])),
        test=_named(worst, test),
        who=who(worst),
        largest=subject,
        estimate=largest["estimate"],
        level=level_of(largest),
        who2=who(largest),
        p_of_level=show_p(float(largest["p_adjusted"])),
    )
    remedy = None
    if remedies is not None and test is not None:
        remedy = " ".join(remedies[name] for name in dict.fromkeys(tests.loc[rejected, test]))
    smallest = float(worst["p_joint_adjusted"])
    return question.answer(table, verdict, finding, notes, remedy, p=smallest)


def _gravest_difference(table: pd.DataFrame, alpha: float) -> tuple[Verdict, pd.DataFrame, str]:
    """Verdict on differences, the rows that cause it, and what these rows are called."""
    rejected = table["p_joint_adjusted"] < alpha
    severe = rejected & (table["p_adjusted"] < alpha) & (table["estimate"].abs() > LARGE)
    if severe.any():
        return (
            "error",
            table[severe],
            f"The largest difference that is significant after adjustment and exceeds {LARGE:g}",
        )
    if rejected.any():
        return "warning", table[rejected], "The largest difference where a joint test rejects"
    return "pass", table, "The largest difference"


def _named(row: pd.Series, test: str | None) -> str:
    return Note.of(" ({column})", column=row[test]) if test else ""
