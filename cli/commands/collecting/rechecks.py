"""What ``conjury collect`` reports of answers that are asked for again, or read by a second reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...automation import record
from ...printing import console, print_frame

if TYPE_CHECKING:
    from conjury.analysis.results import Result
    from conjury.inference.collecting import Collected

FILE = "determinism.csv"


def record_recheck(done: Collected) -> Result | None:
    """Estimate, write and record the share of answers that changed; None where nothing was compared."""
    recheck = done.rechecked
    if recheck is None or recheck.pairs.empty:
        return None
    from conjury.analysis.frames.analysis_wings import WINGS
    from conjury.inference.tables.files import write_table

    result: Result = WINGS.find("determinism")(recheck.pairs)
    path = done.prepared.folder.path / FILE
    write_table(result.frame, path)
    invariance = {"first": recheck.first, "second": recheck.second}
    record(determinism={"shares": result.frame, "batch_invariance": invariance}, files=[path])
    return result


def show_recheck(done: Collected, result: Result) -> None:
    """Print how many answers changed, in sentences and as a table."""
    recheck = done.rechecked
    assert recheck is not None
    n_unanswered = done.prepared.plan.total - len(recheck.pairs)
    n = len(recheck.pairs)
    console.print(f"{n:,} {'answer' if n == 1 else 'answers'} compared with those of the run:")
    for row in result.frame[result.frame["condition"] == ""].to_dict("records"):
        console.print(
            f"  {row['n_changed']:,} of {row['n']:,} {row['quantity']}s changed: {row['estimate']:.1%} "
            f"(95% interval {row['lower']:.1%} to {row['upper']:.1%})"
        )
    print_frame(result.frame)
    console.print(_invariance(recheck.first, recheck.second))
    if n_unanswered > 0:
        console.print(f"{n_unanswered:,} without a second answer so far; the same command requests these.")
    console.print(f"Table in {done.prepared.folder.path / FILE}; the run itself is unchanged.")


def _invariance(first: str, second: str) -> str:
    """Say whether batch invariance was on, both times."""
    if first == second:
        return f"Batch invariance of the engine: {first}."
    return f"Batch invariance of the engine: {first} for the first answers, {second} for the second."


def record_reread(done: Collected) -> tuple[float, float] | None:
    """Record what a second reader read; return the interval of its agreement, None without tables."""
    if done.account is None:
        return None
    import numpy as np

    from conjury.analysis.numerics.intervals.interval_limits import wilson

    n, lower, upper = done.account["both_read"], float("nan"), float("nan")
    if n:
        limits = wilson(np.array([done.account["agreed"] / n]), np.array([n]), 0.05)
        lower, upper = (float(limit[0]) for limit in limits)
    record(reread={**done.account, **({"lower": lower, "upper": upper} if n else {})})
    return lower, upper


def show_reread(done: Collected, limits: tuple[float, float], study: str) -> None:
    """Print what a second reader read, how often it agrees with the rules, and how to use its reading."""
    from conjury.inference.collecting.answering.answer_account import reread_sentences
    from conjury.inference.study import Study

    assert done.account is not None
    for sentence in reread_sentences(done.account):
        console.print(sentence)
    if n := done.account["both_read"]:
        share, (lower, upper) = done.account["agreed"] / n, limits
        console.print(f"Agreement: {share:.1%} (95% interval {lower:.1%} to {upper:.1%}).")
    if done.account["unanswered"] and not done.tally.stopped:
        console.print("Next: the same command again, which sends only what has no answer.")
        return
    of_pairs = isinstance(done.prepared.job.study, Study)
    file = done.prepared.folder.path / ("choices.parquet" if of_pairs else "judgments.parquet")
    console.print(f"Next: conjury fit {study} --data {file}; the run itself is unchanged.")
