"""Exhibits of benchmarks: parsed answers, scores, several answers per item, people behind gold labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ....benchmark.pass_at_k import with_copies
from ....figures.benchmark.benchmark_labels import (
    BASELINES,
    MISSING,
    READINGS,
    STATUSES,
    label_rows,
    metric_in_words,
    most_frequent,
    policy_in_words,
    rule_in_words,
    strata_of,
)
from ....figures.benchmark.score_figures import (
    agreement_rows,
    distinct_policies,
    distinction_in_words,
    policy_of,
)
from ....figures.labels import COEFFICIENTS, ColumnNames, words
from ....frames.rounding import percentage
from ....frames.sentences import capitalised, together
from ....frames.vocabulary import BASELINE
from ....results import Result
from ...method_sentences import plain
from ...sentences.label_sentences import (
    Baseline,
    BestJudges,
    Copies,
    RuleDifferences,
    baseline,
    best_in_words,
    compare_with_baseline,
    compared_in_words,
    copies_in_words,
    find_best_judges,
    find_least_parsed,
    parsed_in_words,
    rules_in_words,
)
from ...table_format import estimate_cell, in_brackets, number, spread, styled_table, whole, with_gaps
from ..exhibit_registry import level
from ..template import tables_of

if TYPE_CHECKING:
    from great_tables import GT

METRICS = ("accuracy", "balanced_accuracy", "macro_f1", "mcc", "auc", "log_loss", "missing_rate")
BESIDE_RECALLS = ("accuracy", "macro_f1")
MOST_PLACES = 4  # tasks and strata that are described one by one
PLACE = "place"
PASS = "pass_at_k"
MAIN = "all judges"  # the first of two parts of a table
SURPLUS = "Surplus labels"
SURPLUS_NOTE = "Surplus labels are of lines beyond those that were shown; they are not among the judgments."


def copies_text(result: Result, _: ColumnNames) -> str:
    """Whether repeated answers are copies of each other."""
    samples = result.extra.get("samples")
    if samples is None:
        return ""
    keys = samples.columns[: samples.columns.get_loc("stratum")].tolist()
    cells = samples.assign(_copied=with_copies(samples)).groupby(keys, observed=True)["_copied"].any()
    return copies_in_words(Copies(int(cells.sum()), len(cells)))


def _gain_of_answers(result: Result, names: ColumnNames) -> str:
    """Who is most often right with one of several answers, beside one answer and guessing."""
    rows = _one_policy(result.frame)
    rows = rows[rows["metric"].astype(str) == PASS].dropna(subset="estimate")
    if rows.empty or rows["k"].max() == rows["k"].min():
        return ""
    frame, places = label_rows(rows, result.settings, names)
    frame = frame[frame["_where"] == places[0]]
    most = int(frame["k"].max())
    of_baselines = set(frame.loc[frame.get("judge_kind", frame["_who"]) == BASELINE, "_who"])
    with_most, with_one = (frame[frame["k"] == k].set_index("_who")["estimate"] for k in (most, 1))
    judges = with_most[[name not in of_baselines for name in with_most.index]]
    if judges.empty:
        return ""
    name = str(judges.idxmax())
    where = f"{plain(places[0])}: " if places[0] else ""
    baselines = [
        f"{plain(baseline)} {number(value, 2)}"
        for baseline, value in with_most.drop(index=judges.index).items()
    ]
    guessing = f"; {together(baselines, len(baselines))}" if baselines else ""
    share, alone = number(judges[name], 2), number(with_one.get(name), 2)
    text = f"at least one of {most} answers by {plain(name)} is right with probability {share}"
    return f"{capitalised(where + text)} ({alone} with a single answer){guessing}."


@tables_of("passes", reading=copies_text, headline=_gain_of_answers)
def passes(result: Result, names: ColumnNames) -> list[GT]:
    """Scores of k answers, k as columns; by strata only the first score."""
    rows = _one_policy(result.frame)
    if result.settings.get("by"):
        rows = rows[rows["metric"] == rows["metric"].iloc[0]]
    frame, places = label_rows(rows, result.settings, names)
    frame = ranked(frame, places)
    group = metric_and_place(frame).tolist()
    frame = frame.assign(_group=pd.Categorical(group, list(dict.fromkeys(_by_rule(frame, group)))))
    frame = frame.sort_values("_group", kind="stable")
    table = spread(
        frame,
        {PLACE: frame["_group"], "Judge": frame["_who"]},
        "k = " + frame["k"].astype(int).astype(str),
        lambda row: number(row["estimate"], 2),
    )
    table = _baselines_last(table, frame)
    note = "Of most frequent and best answers the first k count; of the others all subsets of k answers."
    if result.settings.get("by"):
        note = "Over all subsets of k answers. The folder has the other scores."
    return [grouped(table, note)]


@tables_of("annotators")
def annotators(result: Result, names: ColumnNames) -> list[GT]:
    """Agreement of the people behind gold labels, coefficients as columns."""
    frame = agreement_rows(result)
    by = strata_of(result.settings, frame)
    table = spread(
        frame,
        {
            PLACE: frame["dimension"].map(lambda text: distinction_in_words(text, names)),
            "Items": pd.Series(names.joined(frame, by, "All items"), index=frame.index),
            "Number": frame["n_items"].map(whole),
        },
        frame["coefficient"].map(lambda kind: COEFFICIENTS.get(kind, kind)),
        estimate_cell,
    )
    note = (
        f"{in_brackets(f'{level(result)} intervals', table)}. Observed agreement is that of pairs of people."
    )
    return [grouped(table, note)]


def best_judges(result: Result, names: ColumnNames) -> str:
    """The best judge of each place, and how many judges stay below the constant answer."""
    frame = result.frame[result.frame["metric"] == "accuracy"]
    if frame.empty:
        return ""
    frame = frame[frame["missing"].astype(str) == policy_of(frame, None)]
    policy = str(frame["missing"].iloc[0])
    frame, places = label_rows(frame, result.settings, names)
    if len(places) > MOST_PLACES:
        return ""
    described: list[BestJudges] = []
    for place in places:
        rows = frame[frame["_where"] == place]
        judges = rows[rows["judge_kind"] != BASELINE].dropna(subset="estimate")
        cells = [estimate_cell(row) for row in judges.to_dict("records")]
        trivial = rows.loc[rows["judge"].astype(str) == _constant(result), "estimate"]
        over = _over_baseline(result, place, names, float(trivial.iloc[0]) if len(trivial) else np.nan)
        leader = find_best_judges(judges, cells, place, over, bool(described))
        described += [] if leader is None else [leader]
    texts = [
        *map(best_in_words, described),
        compared_in_words(compare_with_baseline(described, level(result))),
    ]
    if any("[" in leader.cell for leader in described):
        texts.insert(len(described), f"Brackets are {level(result)} intervals.")
    return " ".join(filter(None, [*texts, _missing_as(result, policy)]))


def _constant(result: Result) -> str:
    """The baseline that judges are compared with."""
    return "majority class by stratum" if result.settings.get("strata") else "majority class"


def _missing_as(result: Result, policy: str) -> str:
    """What missing answers count as, where there are any."""
    rates = result.frame[
        (result.frame["metric"] == "missing_rate") & (result.frame["judge_kind"] != BASELINE)
    ]
    rates = rates[rates["missing"].astype(str) == policy]
    n_missing = float((rates["estimate"] * rates["n_answers"]).sum()) if "n_answers" in rates else 0.0
    if not n_missing:
        return ""
    share = percentage(n_missing / float(rates["n_answers"].sum()))
    return f"{capitalised(MISSING.get(policy, policy))}; {share} of the answers have no label."


def _over_baseline(result: Result, place: str, names: ColumnNames, share: float) -> Baseline | None:
    """How many judges are right less often, and more often, than the most frequent label would be."""
    over = result.extra.get("over_baseline")
    if over is None:
        return None
    over = over[over["missing"].astype(str) == policy_of(over, None)]
    over = label_rows(over, result.settings, names)[0]
    return baseline(over[over["_where"] == place], most_frequent(result.settings, names), share)


def parsed_answers(result: Result, names: ColumnNames) -> str:
    """Who leaves most answers without a label, and what the lenient rule adds."""
    frame = result.frame
    rules = list(dict.fromkeys(frame["rule"].astype("string").fillna("").map(_rule)))
    last = frame[frame["rule"].astype("string").fillna("").map(_rule) == rules[-1]]
    counts = last.assign(ok=last["n"].where(last["status"].astype(str) == "ok", 0))
    shares = counts.groupby(["prompt", "judge"], sort=False, observed=True)[["ok", "n"]].sum()
    named = [
        f"{plain(names.of('judge', judge))}, {plain(names.of('prompts', prompt))}"
        for prompt, judge in shares.index
    ]
    text = parsed_in_words(find_least_parsed(shares["ok"], shares["n"], named))
    compared = result.extra.get("compared")
    if compared is None:
        return text
    n = compared.groupby(compared["status"].astype(str), sort=False)["n"].sum()
    parts = (int(n.get(name, 0)) for name in ("only_lenient", "only_strict", "different"))
    return f"{text} {rules_in_words(RuleDifferences(int(n.sum()), *parts))}".strip()


def _rule(name: str) -> str:
    return str(name).rpartition("/")[2]


@tables_of("scores", reading=best_judges, headline=best_judges)
@tables_of("probabilities")
def score_tables(result: Result, names: ColumnNames) -> dict[str, GT]:
    """Main metrics by judge in tasks and strata; then the first under each rule for missing answers."""
    frame = result.frame
    policy = policy_of(frame, None)
    kinds = list(dict.fromkeys(frame["metric"].astype(str)))
    recalls = [kind for kind in kinds if kind.startswith(("recall_", "specificity_"))]
    metrics = [kind for kind in kinds if kind in (BESIDE_RECALLS if recalls else METRICS) or kind in recalls]
    chosen, places = label_rows(frame[frame["missing"].astype(str) == policy], result.settings, names)
    chosen = chosen[chosen["metric"].isin(metrics)]
    chosen = ranked(chosen, places)
    table = spread(
        chosen,
        {PLACE: chosen["_where"], "Judge": chosen["_who"]},
        pd.Series([metric_in_words(kind) for kind in chosen["metric"]]),
        estimate_cell,
    )
    table = _baselines_last(table, chosen)
    what = in_brackets(f"{level(result)} intervals", table)
    note = f"{what}; {MISSING.get(policy, policy)}."
    tables = {MAIN: grouped(table, with_gaps(note, table, "not defined, or no draw differs"))}
    first = metrics[0]
    of_first, places = label_rows(
        frame[(frame["metric"] == first) & (frame["judge_kind"] != BASELINE)], result.settings, names
    )
    policies = distinct_policies(of_first)
    if len(policies) > 1:
        of_first = of_first[of_first["missing"].astype(str).isin(policies)]
        of_first = ranked(of_first, places)
        by_policy = spread(
            of_first,
            {PLACE: of_first["_where"], "Judge": of_first["_who"]},
            of_first["missing"].astype(str).map(policy_in_words),
            estimate_cell,
        )
        note = f"{metric_in_words(first)} under each rule for missing answers; {level(result)} intervals."
        tables["rules for missing answers"] = grouped(by_policy, note)
    return tables


@tables_of("readings", reading=parsed_answers)
def reading_tables(result: Result, names: ColumnNames) -> dict[str, GT]:
    """What became of answers, in percent; and how two rules compare."""
    tables = {MAIN: _status_shares(result.frame, names, STATUSES, "Percent of the judgments of a judge.")}
    if "compared" in result.extra:
        note = "Percent of the judgments; the same answers parsed by two rules."
        tables["two parsing rules"] = _status_shares(result.extra["compared"], names, READINGS, note)
    return tables


def grouped(table: pd.DataFrame, note: str, n_left: int = 1) -> GT:
    """A table with places as headings of groups, unless there is one place without a name."""
    single = table[PLACE].nunique() == 1 and not str(table[PLACE].iloc[0])
    if single:
        return styled_table(table.drop(columns=PLACE), note=note, n_left=n_left)
    return styled_table(table, groups=PLACE, note=note, n_left=n_left)


def _baselines_last(table: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Put rows of baselines, as ``judge`` and ``_who`` of ``frame`` name them, below those of judges."""
    trivial = set(frame.loc[frame["judge"].astype(str).isin(list(BASELINES)), "_who"].astype(str))
    return table.sort_values("Judge", key=lambda names: names.isin(trivial), kind="stable")


def _by_rule(frame: pd.DataFrame, group: list[str]) -> list[str]:
    """Names of groups, rule by rule."""
    pairs = list(zip(frame["metric"], group, strict=True))
    return [name for rule in dict.fromkeys(frame["metric"]) for metric, name in pairs if metric == rule]


def _one_policy(frame: pd.DataFrame) -> pd.DataFrame:
    if "missing" not in frame:
        return frame
    return frame[frame["missing"].astype(str) == policy_of(frame, None)]


def _status_shares(frame: pd.DataFrame, names: ColumnNames, statuses: Mapping[str, str], note: str) -> GT:
    frame = frame.assign(_rule=frame["rule"].astype("string").fillna("").map(rule_in_words))
    rows = {
        PLACE: frame["prompt"].map(lambda text: names.of("prompts", text)),
        "Judge": frame["judge"].map(lambda text: names.of("judge", text)),
    }
    if frame["_rule"].nunique() > 1:
        rows["Rule"] = frame["_rule"]
    order = [status for status in statuses if status in set(frame["status"].astype(str))]
    table = spread(
        frame,
        rows,
        frame["status"].astype(str).map(lambda status: statuses.get(status, words(status))),
        lambda row: percent(row["share"]),
    )
    table = table[[*rows, *(statuses[status] for status in order if statuses[status] in table)]].fillna("0%")
    if "n_surplus" in frame and frame["n_surplus"].any():
        table = table.merge(_surplus(frame, rows), on=list(rows), how="left")
        note += " " + SURPLUS_NOTE
    return grouped(table, note, n_left=len(rows) - 1)


def _surplus(frame: pd.DataFrame, rows: Mapping[str, pd.Series[Any]]) -> pd.DataFrame:
    """Labels beyond the lines that were shown, for each row of a table of readings."""
    cells = frame.drop_duplicates(["judge", "prompt", "task", "rule"])
    named = {name: texts[cells.index] for name, texts in rows.items()}
    column = pd.Series(SURPLUS, index=cells.index)
    return spread(cells, named, column, lambda row: whole(row["n_surplus"]))


def percent(share: float) -> str:
    """A share in whole percent."""
    return "" if pd.isna(share) else percentage(share)


def ranked(frame: pd.DataFrame, places: list[str]) -> pd.DataFrame:
    """The rows place by place."""
    rank = frame["_where"].map(places.index).to_numpy()
    return frame.iloc[sorted(range(len(frame)), key=lambda at: int(rank[at]))]


def metric_and_place(frame: pd.DataFrame) -> pd.Series[str]:
    """The metric of each row, with its place unless there is one only."""
    metric = pd.Series([metric_in_words(kind) for kind in frame["metric"]], index=frame.index)
    return metric + frame["_where"].map(lambda text: f": {text}" if text else "")
