"""Stretches of answers in which one outcome occurs far more often in a row than by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note
from ..judge_shares import evidence
from ..judged import NotApplicableError
from ..labelled import answers_of, labelled
from ..registry import Check, Question, adjusted, check, lowest, show_p, who

OUTAGES = Question(
    code="CJ321",
    name="outages",
    title="Outages that look like answers",
    text="Is there a run of one label or one kind of missing answer that is far longer than expected by "
    "chance?",
    consequence="The answers of such a run are probably due to a broken connection, a cache or a fallback, "
    "and are not judgments.",
    remedy="Inspect the raw responses of the run; collect answers to these items again, and treat answers "
    "that cannot be collected again as missing.",
    alarms="test",
)
FEWEST = 30  # answers of one judge in a series
LONGEST = 5  # shorter runs are no outage


@dataclass(frozen=True)
class OutcomeRun:
    """The least probable run of one outcome in a series: where it begins, its length and its p value."""

    value: str
    start: int
    length: int
    p: float


@check(OUTAGES)
def outages(
    judgments: pd.DataFrame,
    alpha: float,
    labels: pd.DataFrame | None = None,
    item_study: ItemStudy | None = None,
    responses: pd.DataFrame | None = None,
) -> Check:
    """Find the least probable run in the order of asking, for every judge, prompt, task and sample."""
    answers = answers_of(judgments)
    if labels is not None:
        try:
            gold = labelled(judgments, labels, item_study)[
                ["judge", "prompt", "task", "item_id", "sample", "gold"]
            ]
            answers = answers.merge(gold, on=["judge", "prompt", "task", "item_id", "sample"], how="left")
        except NotApplicableError:
            pass
    series = list(_series(answers, responses))
    if not series:
        raise NotApplicableError(Note.of("No judge has {fewest} answers to one task.", fewest=FEWEST))
    table = pd.DataFrame(
        [
            {**key, "label": run.value, "estimate": run.length, "start": run.start + 1, "p": run.p}
            for key, run, _ in series
        ]
    )
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    worst = lowest(table, table["p"])
    alarms = (table["p_adjusted"] < alpha).to_numpy()
    p = float(table["p_adjusted"].min())
    finding = Note.of(
        "{series} an improbable run of one outcome, of {n}; the least probable is {estimate} "
        "times {label!r} from answer {start} on ({who}, {dimension}, sample {sample}; smallest adjusted "
        "{p}).",
        series=counted(int(alarms.sum()), "series has", "series have"),
        n=len(table),
        estimate=int(worst["estimate"]),
        label=(worst["task"], str(worst["label"])),
        start=int(worst["start"]),
        who=who(worst),
        dimension=worst["task"],
        sample=worst["sample"],
        p=show_p(p),
    )
    rows = [rows for (_, _, rows), bad in zip(series, alarms, strict=True) if bad]
    return OUTAGES.answer(
        table.drop(columns=["task", "sample"]), "error" if alarms.any() else "pass", finding, p=p,
        rows=evidence(pd.concat(rows), np.ones(sum(map(len, rows)), dtype=bool)) if rows else None,
    )  # fmt: skip


def least_probable_run(outcome: np.ndarray, reference: np.ndarray) -> OutcomeRun | None:
    """Find the least probable run of one outcome, shape (n,), given each item's reference, shape (n,)."""
    # The product of the outcome's shares among other answers with the same reference, each at most (count +
    # 1) / (number + 1), bounds a run's probability; times n and the outcomes, that of any run (Bonferroni).
    codes, names = pd.factorize(outcome)
    kind, _ = pd.factorize(reference)
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    ends = np.append(starts[1:], len(codes))
    best: OutcomeRun | None = None
    sizes = np.bincount(kind)
    for start, end in zip(starts[ends - starts >= LONGEST], ends[ends - starts >= LONGEST], strict=True):
        inside = np.zeros(len(codes), dtype=bool)
        inside[start:end] = True
        same = np.bincount(kind[~inside], codes[~inside] == codes[start], minlength=len(sizes))
        of = np.bincount(kind[~inside], minlength=len(sizes))
        log = np.log((same + 1) / (of + 1))[kind[start:end]].sum()
        p = float(min(1.0, np.exp(log + np.log(len(codes)) + np.log(len(names)))))
        if best is None or p < best.p:
            best = OutcomeRun(str(names[codes[start]]), int(start), int(end - start), p)
    return best


def _series(
    answers: pd.DataFrame, responses: pd.DataFrame | None
) -> Iterator[tuple[dict[str, str], OutcomeRun, pd.DataFrame]]:
    """The least probable run of each series of a model, in the order of responses where it is known."""
    models = answers[answers["kind"].ne("human") & ~answers["task"].str.fullmatch(r"line_\d+")]
    when = None
    if responses is not None and "created" in responses and "item_id" in responses:
        keys = ["judge_id", "prompt_id", "item_id", "sample"]
        when = (
            responses.dropna(subset=["item_id"]).groupby(keys, dropna=False, observed=True)["created"].min()
        )
    for (judge, prompt, task, sample), group in models.groupby(
        ["judge", "prompt", "task", "sample"], sort=False
    ):
        if len(group) < FEWEST:
            continue
        place = group["place"].to_numpy(dtype=float)
        if when is not None:
            index = pd.MultiIndex.from_arrays(
                [group["judge"], group["prompt"].replace("", pd.NA), group["item_id"], group["sample"]]
            )
            created = pd.to_datetime(pd.Series(when.reindex(index).to_numpy()), utc=True)
            place = created.rank(method="first").to_numpy() if created.notna().all() else place
        ordered = group.iloc[np.argsort(place, kind="stable")]
        outcome = as_text(ordered["value"]).fillna(ordered["status"]).fillna("missing").to_numpy(dtype=object)
        reference = (
            as_text(ordered["gold"]).fillna("").to_numpy(dtype=object)
            if "gold" in ordered
            else np.zeros(len(group))
        )
        run = least_probable_run(outcome, reference)
        key = {
            "judge": str(judge),
            "prompt": str(prompt),
            "panel": f"{task}, sample {sample}",
            "task": str(task),
            "sample": str(sample),
        }
        if run is None:
            yield key, OutcomeRun("none", 0, 0, 1.0), ordered.iloc[:0]
        else:
            rows = ordered.iloc[run.start : run.start + run.length]
            yield (
                key,
                run,
                rows.rename(columns={"judge": "judge_id", "prompt": "prompt_id", "task": "dimension"}),
            )
