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
from ....figures.benchmark.score_figures import policy_of, rows_of_policy
from ....figures.labels import ColumnNames
from ....frames.rounding import percentage
from ....frames.sentences import agreeing, capitalised
from ....frames.vocabulary import BASELINE, MAJORITY, MAJORITY_BY_STRATUM
from ....results import Result
from ...method_sentences import plain
from ...sentences.label_sentences import find_kinds_of_gold, kinds_in_words
from ...sentences.ranking_sentences import (
    Differ,
    Leader,
    clear_rule,
    find_leader,
    leader_in_words,
    overlap_of,
)
from ...sentences.score_sentences import (
    BEST,
    LEVEL,
    SAME,
    SAME_WEIGHT,
    Baseline,
    BestJudges,
    ComparedPlaces,
    LeftOut,
    attempts_in_words,
    baseline,
    best_in_words,
    find_best_attempts,
    left_out_in_words,
    places_in_words,
)
from ...table_format import estimate_cell, p_value, whole
from ..exhibit_registry import level

MOST_PLACES = 4  # tasks and strata that are described one by one
MANY = 0.1  # share of answers without a label, from which it is said first
score_cell = partial(estimate_cell, halves=False)  # one half is no score of nobody
ACCURACY, BALANCED_ACCURACY, EXCLUDED = "accuracy", "balanced_accuracy", "missing"
SCORES = {  # what each score is of one judge and of several, and what is said of it
    ACCURACY: ("share of correct answers", "shares of correct answers", ""),
    BALANCED_ACCURACY: ("balanced accuracy", "balanced accuracies", f", {SAME_WEIGHT},"),
}
KINDS, COUNTED = ("recall", "specificity"), ("answers", "units", "items")
EQUAL = 1e-6  # a difference of two scores that is closer to that of a test is the same


def best_judges(result: Result, names: ColumnNames, compared: Result | None = None) -> str:
    """The best judges of each place, those level with them, and who is above the constant answer."""
    policy = policy_of(result.frame, None)
    frame, places = label_rows(result.frame, result.settings, names)
    if len(places) > MOST_PLACES or not (frame["metric"] == ACCURACY).any():
        return ""
    described: list[BestJudges] = []
    texts: list[str] = []
    changes: dict[str, str] = {}
    for place in places:
        rows = frame[(frame["_where"] == place) & frame["estimate"].notna()]
        counted = rows_of_policy(rows, policy)
        leader, balanced = (_leader(counted, metric, compared) for metric in SCORES)
        if leader is None:
            continue
        over = _over_baseline(result, place, counted, names)
        best = BestJudges(place, leader, over, bool(described), balanced)
        described.append(best)
        metric = ACCURACY
        if best.is_below and balanced is not None:
            leader, metric = balanced, BALANCED_ACCURACY
        of_kinds = _with_kinds(counted, result.settings, names)
        of_kinds = of_kinds.assign(_meaning="") if any(texts) else of_kinds
        kinds = find_kinds_of_gold(of_kinds, leader.names[0])
        judges = _of_judges(counted, metric)
        labelled = _of_judges(rows[rows["missing"].astype(str) == EXCLUDED], metric)
        change = _change(judges, labelled) if policy != EXCLUDED else None
        changes |= {place: change} if change else {}
        sentences = [
            best_in_words(best),
            kinds_in_words(kinds) if kinds else "",
            _among_labelled(labelled, judges, metric) if change in (BEST, LEVEL) else "",
        ]
        texts.append(" ".join(filter(None, sentences)))
    if not described:
        return ""
    estimated = frame[(frame["missing"].astype(str) == policy) & frame["estimate"].notna()]
    texts += filter(None, [_compared_places(estimated, places)])
    notes = [f"Brackets are {level(result)} intervals." if any("[" in text for text in texts) else ""]
    rivals = [row for best in described for row in (*best.leader.level, *best.leader.following)]
    if compared is not None and any(row[2] for row in rivals):
        notes.append(clear_rule(_alpha(compared), str(compared.settings.get("adjust") or "holm")))
    if any(best.baseline is not None and best.baseline.compared for best in described):
        notes.append(
            f"Comparisons with the most frequent label are by {level(result)} intervals, item by item."
        )
    missing, share = _missing_as(estimated, policy)
    missing = f"{missing} {left_out_in_words(LeftOut(tuple(changes.items())))}".strip() if missing else ""
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


def _leader(rows: pd.DataFrame, metric: str, compared: Result | None) -> Leader | None:
    """The best judge by a score, with those level with them by tests or, without any, by intervals."""
    judges = _of_judges(rows, metric)
    who, (single, several, says) = list(judges["_who"]), SCORES[metric]
    what = (single + says, several + says)
    cells = _cells(judges) if metric == ACCURACY else list(map(score_cell, judges.to_dict("records")))
    leader = find_leader(what, who, judges["estimate"], cells, _differ(compared, judges, metric))
    if leader is not None and not leader.level and not any(row[2] for row in leader.following):
        return find_leader(what, who, judges["estimate"], cells, overlap_of(judges))
    return leader


def _change(judges: pd.DataFrame, labelled: pd.DataFrame) -> str | None:
    """Whether the best of several judges, or who is level by intervals, changes; None where there is one."""
    before, after = (
        find_leader(("", ""), list(rows["_who"]), rows["estimate"], [""] * len(rows), overlap_of(rows))
        for rows in (judges, labelled)
    )
    if before is None or after is None or before.of == 1:
        return None
    if set(before.names) != set(after.names):
        return BEST
    return SAME if {row[0] for row in before.level} == {row[0] for row in after.level} else LEVEL


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


def _differ(compared: Result | None, judges: pd.DataFrame, metric: str) -> Differ:
    """Whether two judges of a place differ clearly on the same items, by a score, and by how much."""
    if compared is None or compared.settings.get("between") != "judge":
        return lambda *_: None
    numbers = judges["estimate"].to_numpy(dtype=float)
    pairs: dict[tuple[str, ...], dict[Any, Any]] = {}
    frame = rows_of_first_test(compared.frame)
    keys = [name for name in ("prompt", "task", *strata_of(compared.settings, frame)) if name in judges]
    rows = frame[frame["metric"] == metric].dropna(subset=["estimate", "p_adjusted"])
    for row in rows.to_dict("records"):
        where = tuple(str(row[name]) for name in keys)
        back = row | {"estimate": -row["estimate"], "lower": -row["upper"], "upper": -row["lower"]}
        pairs[str(row["left"]), *where, str(row["right"]), *where] = row
        pairs[str(row["right"]), *where, str(row["left"]), *where] = back
    ids = list(judges[["judge", *keys]].astype(str).itertuples(index=False, name=None))

    def differ(first: int, second: int) -> tuple[bool, str] | None:
        row = pairs.get((*ids[first], *ids[second]))
        if row is None or abs(row["estimate"] - (numbers[first] - numbers[second])) > EQUAL:
            return None  # not on all items of the place
        clear = row["p_adjusted"] < _alpha(compared)
        return clear, f"{score_cell(row)}, adjusted p {p_value(row['p_adjusted'])}"

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


def _among_labelled(labelled: pd.DataFrame, judges: pd.DataFrame, metric: str) -> str:
    """Who is best where answers without a label are excluded."""
    n_asked = dict(zip(judges["_who"], judges.get("n_answers", pd.Series(0, judges.index)), strict=True))
    cells = []
    for who, row in zip(labelled["_who"], labelled.to_dict("records"), strict=True):
        of = f", {percentage(row['n_answers'] / n_asked[who])} of its answers" if n_asked.get(who) else ""
        cells.append(f"{score_cell(row)}{of}")
    who = list(labelled["_who"])
    what = tuple(f"{text} among those with a label" for text in SCORES[metric][:2])
    best = find_leader((what[0], what[1]), who, labelled["estimate"], cells, overlap_of(labelled))
    return "" if best is None else f"{capitalised(leader_in_words(best))}."


def _missing_as(rows: pd.DataFrame, policy: str) -> tuple[str, float]:
    """What missing answers count as, where there are any, and their share, place by place if it differs."""
    rates = _of_judges(rows, "missing_rate")
    if "n_answers" not in rates:
        return "", 0.0
    rates = rates.assign(_missing=rates["estimate"] * rates["n_answers"])
    counts = rates.groupby("_where", sort=False)[["_missing", "n_answers"]].sum()
    if not counts["_missing"].sum():
        return "", 0.0
    share = float(counts["_missing"].sum() / counts["n_answers"].sum())
    by_place = (counts["_missing"] / counts["n_answers"]).map(percentage)
    parts = [f"{text} for {plain(place)}" for place, text in by_place.items()]
    of_places = f" ({'; '.join(parts)})" if by_place.nunique() > 1 else ""
    rule = MISSING.get(policy, policy).replace("answers without a label", "these")
    return f"{percentage(share)} of the answers have no label{of_places}; {rule}.", share


def _over_baseline(result: Result, place: str, rows: pd.DataFrame, names: ColumnNames) -> Baseline | None:
    """The judges that are right less often, and more often, than the most frequent label would be."""
    over = result.extra.get("over_baseline")
    if over is None:
        return None
    over = label_rows(rows_of_policy(over), result.settings, names)[0]
    baseline_name = MAJORITY_BY_STRATUM if result.settings.get("strata") else MAJORITY
    constant = rows[rows["judge"].astype(str) == baseline_name]
    share = constant.loc[constant["metric"] == ACCURACY, "estimate"]
    balanced = constant[constant["metric"] == BALANCED_ACCURACY]
    highest = balanced[["estimate", "upper"]].max(axis=None)
    judges = _of_judges(rows, BALANCED_ACCURACY)
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
        judges = _of_judges(of_task, BALANCED_ACCURACY)
        ordered = judges.sort_values("estimate", kind="stable")
        best = {row["_where"]: row for row in ordered.to_dict("records")}  # the last of each place
        compared = [place for place in places if place in share and place in best]
        highest = tuple((score_cell(best[place]), str(best[place]["_who"])) for place in compared)
        shares = tuple(float(share[place]) for place in compared)
        texts.append(places_in_words(ComparedPlaces(tuple(compared), shares, highest)))
    return " ".join(filter(None, texts))


def several_answers(result: Result, names: ColumnNames, scored: Result | None = None) -> str:
    """What several answers get right in each place, beside one answer, a constant one and guessing."""
    rows = result.frame.dropna(subset="estimate")
    rows = rows.assign(judge_kind=rows.get("judge_kind", ""))  # older results do not have it
    rows = rows_of_policy(rows)
    most = rows["k"].max()
    frame, places = label_rows(rows[rows["k"].isin((1, most))], result.settings, names)
    if most == 1 or len(places) > MOST_PLACES:
        return ""
    frame = frame.assign(_cell=list(map(score_cell, frame.to_dict("records"))))
    always, shares = most_frequent((scored or result).settings, names), _shares_of_constant(scored, names)
    attempts = (
        find_best_attempts(frame[frame["_where"] == place], place, (always, shares.get(place, np.nan)))
        for place in places
    )
    return " ".join(attempts_in_words(best) for best in attempts if best is not None)


def _shares_of_constant(scored: Result | None, names: ColumnNames) -> dict[str, float]:
    """The share of correct answers of the most frequent label in each place."""
    if scored is None:
        return {}
    name = MAJORITY_BY_STRATUM if scored.settings.get("strata") else MAJORITY
    frame = label_rows(scored.frame, scored.settings, names)[0]
    rows = frame[(frame["judge"].astype(str) == name) & (frame["metric"] == ACCURACY)]
    return dict(zip(rows["_where"], rows["estimate"], strict=True))
