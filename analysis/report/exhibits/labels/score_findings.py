"""What scores and several answers say in words: the best judges, those level with them, plain guessing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ....figures.benchmark.benchmark_labels import (
    MISSING,
    label_in_words,
    label_rows,
    metric_of_gold,
    most_frequent,
    strata_of,
)
from ....figures.benchmark.difference_figures import rows_of_first_test
from ....figures.benchmark.score_figures import policy_of
from ....figures.labels import ColumnNames
from ....frames.rounding import percentage
from ....frames.sentences import agreeing, capitalised
from ....frames.vocabulary import BASELINE, MAJORITY, MAJORITY_BY_STRATUM
from ....results import Result
from ...sentences.label_sentences import (
    Baseline,
    BestJudges,
    ComparedPlaces,
    attempts_in_words,
    baseline,
    best_in_words,
    find_best_attempts,
    find_kinds_of_gold,
    kinds_in_words,
    places_in_words,
)
from ...sentences.ranking_sentences import (
    Differ,
    Leader,
    clear_rule,
    find_leader,
    leader_in_words,
    overlap_of,
)
from ...table_format import estimate_cell, p_value, whole
from ..exhibit_registry import level

MOST_PLACES = 4  # tasks and strata that are described one by one
MANY = 0.1  # share of answers without a label, from which it is said first
CORRECT = ("share of correct answers", "shares of correct answers")
LABELLED = (f"{CORRECT[0]} among those with a label", f"{CORRECT[1]} among those with a label")
score_cell = partial(estimate_cell, halves=False)  # one half is no score of nobody
ACCURACY, BALANCED, EXCLUDED = "accuracy", "balanced_accuracy", "missing"
KINDS, COUNTED = ("recall", "specificity"), ("answers", "units", "items")
SAME = 1e-6  # a difference of two scores that is closer to that of a test is the same


def best_judges(result: Result, names: ColumnNames, compared: Result | None = None) -> str:
    """The best judges of each place, those level with them, and who is above the constant answer."""
    policy = policy_of(result.frame, None)
    frame, places = label_rows(result.frame, result.settings, names)
    if len(places) > MOST_PLACES or not (frame["metric"] == ACCURACY).any():
        return ""
    described: list[BestJudges] = []
    texts: list[str] = []
    for place in places:
        rows = frame[(frame["_where"] == place) & frame["estimate"].notna()]
        counted = rows[rows["missing"].astype(str) == policy]
        judges = _of_judges(counted, ACCURACY)
        cells, differ = _cells(judges), _differ(compared, judges)
        leader = find_leader(CORRECT, list(judges["_who"]), judges["estimate"], cells, differ)
        if leader is not None and not leader.level and not any(row[2] for row in leader.following):
            leader = find_leader(CORRECT, list(judges["_who"]), judges["estimate"], cells, overlap_of(judges))
        if leader is None:
            continue
        over = _over_baseline(result, place, counted, names)
        described.append(BestJudges(place, leader, over, bool(described)))
        of_kinds = _with_kinds(counted, result.settings, names)
        of_kinds = of_kinds.assign(_meaning="") if any(texts) else of_kinds
        kinds = find_kinds_of_gold(of_kinds, leader.names[0])
        labelled = _of_judges(rows[rows["missing"].astype(str) == EXCLUDED], ACCURACY)
        sentences = [
            best_in_words(described[-1]),
            kinds_in_words(kinds) if kinds else "",
            _among_labelled(labelled, judges, leader),
        ]
        texts.append(" ".join(filter(None, sentences)))
    if not described:
        return ""
    estimated = frame[(frame["missing"].astype(str) == policy) & frame["estimate"].notna()]
    texts += filter(None, [_compared_places(estimated, places)])
    notes = [f"Brackets are {level(result)} intervals." if any("[" in text for text in texts) else ""]
    if compared is not None and any(row[2] for best in described for row in best.leader.level):
        notes.append(clear_rule(_alpha(compared), str(compared.settings.get("adjust") or "holm")))
    if any(best.baseline is not None and best.baseline.compared for best in described):
        notes.append(
            f"Comparisons with the most frequent label are by {level(result)} intervals, item by item."
        )
    missing, share = _missing_as(result, policy)
    if share >= MANY:
        texts[0] = f"{missing} {texts[0]}"
    else:
        notes.append(missing)
    texts[-1] = " ".join(filter(None, [texts[-1], *notes]))
    return "\n\n".join(texts)


def _alpha(compared: Result) -> float:
    return float(compared.settings.get("alpha") or 0.05)


def _of_judges(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """One score of the judges, without baselines."""
    return rows[(rows["judge_kind"] != BASELINE) & (rows["metric"] == metric)].reset_index(drop=True)


def _cells(judges: pd.DataFrame) -> list[str]:
    """Shares with their intervals, and how many answers to how many lines and items they are of."""
    cells = []
    for row in judges.to_dict("records"):
        n_answers, n_units, n_items = (int(row.get(f"n_{name}") or 0) for name in COUNTED)
        text = f"{whole(n_answers)} {agreeing(n_answers, 'answer', 'answers')}" if n_answers else ""
        items = f"{whole(n_items)} {agreeing(n_items, 'item', 'items')}"
        if n_items < n_units:
            text += f" to {whole(n_units)} lines of {items}"
        elif 0 < n_items < n_answers:
            text += f" to {items}"
        cells.append(", ".join(filter(None, (score_cell(row), text))))
    return cells


def _differ(compared: Result | None, judges: pd.DataFrame) -> Differ:
    """Whether two judges of a place differ clearly on the same items, by accuracy, and by how much."""
    if compared is None or compared.settings.get("between") != "judge":
        return lambda *_: None
    numbers = judges["estimate"].to_numpy(dtype=float)
    pairs: dict[tuple[str, ...], dict[Any, Any]] = {}
    frame = rows_of_first_test(compared.frame)
    keys = [name for name in ("prompt", "task", *strata_of(compared.settings, frame)) if name in judges]
    rows = frame[frame["metric"] == ACCURACY].dropna(subset=["estimate", "p_adjusted"])
    for row in rows.to_dict("records"):
        where = tuple(str(row[name]) for name in keys)
        back = row | {"estimate": -row["estimate"], "lower": -row["upper"], "upper": -row["lower"]}
        pairs[str(row["left"]), *where, str(row["right"]), *where] = row
        pairs[str(row["right"]), *where, str(row["left"]), *where] = back
    ids = list(judges[["judge", *keys]].astype(str).itertuples(index=False, name=None))

    def differ(first: int, second: int) -> tuple[bool, str] | None:
        row = pairs.get((*ids[first], *ids[second]))
        if row is None or abs(row["estimate"] - (numbers[first] - numbers[second])) > SAME:
            return None  # not on all items of the place
        clear = row["p_adjusted"] < _alpha(compared)
        p = "" if clear else f", adjusted p {p_value(row['p_adjusted'])}"
        return clear, f"{score_cell(row)}{p}"

    return differ


def _with_kinds(rows: pd.DataFrame, settings: Mapping[str, Any], names: ColumnNames) -> pd.DataFrame:
    """Recalls and specificities of the judges, with the gold label in words, and with what it means."""
    kind = rows["metric"].astype(str).str.partition("_")
    mask = kind[0].isin(KINDS) & (kind[2] != "") & (rows["judge_kind"] != BASELINE)
    pairs = list(zip(rows["task"].astype(str), kind[2], strict=True))
    labels = [label_in_words(task, label, names).lower() for task, label in pairs]
    for place in (kind[0] != KINDS[0]).to_numpy().nonzero()[0]:
        labels[place] = metric_of_gold(rows["metric"].iloc[place], settings, names).lower()
    meanings = [names.meaning(task, label) for task, label in pairs]
    cells = list(map(score_cell, rows.to_dict("records")))
    return rows.assign(_kind=kind[0], _label=labels, _meaning=meanings, _cell=cells)[mask]


def _among_labelled(labelled: pd.DataFrame, judges: pd.DataFrame, leader: Leader) -> str:
    """Who is best where answers without a label are excluded, if not who is best or level otherwise."""
    n_asked = dict(zip(judges["_who"], judges.get("n_answers", pd.Series(0, judges.index)), strict=True))
    cells = []
    for who, row in zip(labelled["_who"], labelled.to_dict("records"), strict=True):
        of = f", {percentage(row['n_answers'] / n_asked[who])} of its answers" if n_asked.get(who) else ""
        cells.append(f"{score_cell(row)}{of}")
    who, differ = list(labelled["_who"]), overlap_of(labelled)
    best = find_leader(LABELLED, who, labelled["estimate"], cells, differ)
    leading = {name for name, *_ in leader.level} | set(leader.names)
    return "" if best is None or set(best.names) <= leading else f"{capitalised(leader_in_words(best))}."


def _missing_as(result: Result, policy: str) -> tuple[str, float]:
    """What missing answers count as, where there are any, and their share."""
    frame = result.frame[result.frame["missing"].astype(str) == policy]
    rates = _of_judges(frame, "missing_rate")
    n_missing = float((rates["estimate"] * rates["n_answers"]).sum()) if "n_answers" in rates else 0.0
    if not n_missing:
        return "", 0.0
    share = n_missing / float(rates["n_answers"].sum())
    rule = MISSING.get(policy, policy).replace("answers without a label", "these")
    return f"{percentage(share)} of the answers have no label; {rule}.", share


def _over_baseline(result: Result, place: str, rows: pd.DataFrame, names: ColumnNames) -> Baseline | None:
    """The judges that are right less often, and more often, than the most frequent label would be."""
    over = result.extra.get("over_baseline")
    if over is None:
        return None
    over = label_rows(over[over["missing"].astype(str) == policy_of(over, None)], result.settings, names)[0]
    baseline_name = MAJORITY_BY_STRATUM if result.settings.get("strata") else MAJORITY
    constant = rows[rows["judge"].astype(str) == baseline_name]
    share = constant.loc[constant["metric"] == ACCURACY, "estimate"]
    balanced = constant[constant["metric"] == BALANCED]
    highest = balanced[["estimate", "upper"]].max(axis=None)
    judges = _of_judges(rows, BALANCED)
    return baseline(
        over[over["_where"] == place],
        most_frequent(result.settings, names),
        float(share.iloc[0]) if len(share) else np.nan,
        list(judges.loc[judges["lower"] > highest, "_who"]),
        float(balanced["estimate"].iloc[0]) if len(balanced) else np.nan,
    )


def _compared_places(rows: pd.DataFrame, places: list[str]) -> str:
    """Which scores compare places of one task where shares of labels differ."""
    texts = []
    for _, of_task in rows.groupby(rows["task"].astype(str), sort=False):
        constant = of_task[(of_task["judge"].astype(str) == MAJORITY) & (of_task["metric"] == ACCURACY)]
        share = dict(zip(constant["_where"], constant["estimate"], strict=True))
        judges = _of_judges(of_task, BALANCED)
        ordered = judges.sort_values("estimate", kind="stable")
        best = {row["_where"]: row for row in ordered.to_dict("records")}  # the last of each place
        compared = [place for place in places if place in share and place in best]
        highest = tuple((score_cell(best[place]), str(best[place]["_who"])) for place in compared)
        shares = tuple(float(share[place]) for place in compared)
        texts.append(places_in_words(ComparedPlaces(tuple(compared), shares, highest)))
    return " ".join(filter(None, texts))


def several_answers(result: Result, names: ColumnNames) -> str:
    """What at least one of several answers gets right in each place, beside one answer and guessing."""
    rows = result.frame.dropna(subset="estimate")
    rows = rows.assign(judge_kind=rows.get("judge_kind", ""))  # older results do not have it
    if "missing" in rows:
        rows = rows[rows["missing"].astype(str) == policy_of(rows, None)]
    most = rows["k"].max()
    frame, places = label_rows(rows[rows["k"].isin((1, most))], result.settings, names)
    if most == 1 or len(places) > MOST_PLACES:
        return ""
    frame = frame.assign(_cell=list(map(score_cell, frame.to_dict("records"))))
    attempts = (find_best_attempts(frame[frame["_where"] == place], place) for place in places)
    return " ".join(attempts_in_words(best) for best in attempts if best is not None)
