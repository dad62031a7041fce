"""Exhibits of benchmarks: parsed answers, scores, several answers per item, people behind gold labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ....benchmark.pass_at_k import with_copies
from ....figures.benchmark.benchmark_labels import (
    BASELINES,
    MISSING,
    READINGS,
    STATUSES,
    label_rows,
    metric_in_words,
    metric_of_gold,
    policy_in_words,
    rule_in_words,
    strata_of,
)
from ....figures.benchmark.score_figures import (
    agreement_rows,
    distinct_policies,
    distinction_in_words,
    policy_of,
    rows_of_policy,
)
from ....figures.labels import COEFFICIENTS, ColumnNames, words
from ....frames.rounding import percentage
from ....frames.vocabulary import BASELINE
from ....results import Result
from ...method_sentences import plain
from ...report_data import ReportData
from ...sentences.label_sentences import (
    Copies,
    RuleDifferences,
    copies_in_words,
    find_least_parsed,
    parsed_in_words,
    rules_in_words,
)
from ...table_format import in_brackets, number, spread, styled_table, whole, with_gaps
from ..exhibit_registry import Exhibit, exhibit, level
from ..template import TemplateCode, from_texts, tables_of
from .score_findings import best_judges, score_cell, several_answers

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

METRICS = ("accuracy", "balanced_accuracy", "macro_f1", "mcc", "auc", "log_loss", "missing_rate")
BESIDE_RECALLS = ("accuracy", "balanced_accuracy")
PLACE = "place"
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


def _several(result: Result, _: RecordedResult, report: ReportData) -> str:
    """What several answers add, beside the constant answer where the same run has scores of these places."""
    by = result.settings.get("by")
    scored = (report.read(record) for record in report.of_kind("scores") if record.settings.get("by") == by)
    return several_answers(result, report.names, next(scored, None))


@exhibit("passes", headline=_several)
def _passes(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Scores of several answers."""
    return from_texts(TemplateCode(passes, reading=copies_text), result, record, report)


def passes(result: Result, names: ColumnNames) -> list[GT]:
    """Scores of k answers, k as columns; by strata only the first score."""
    rows = rows_of_policy(result.frame)
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
        score_cell,
    )
    note = (
        f"{in_brackets(f'{level(result)} intervals', table)}. Observed agreement is that of pairs of people."
    )
    return [grouped(table, note)]


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


@tables_of("probabilities")
def score_tables(result: Result, names: ColumnNames) -> dict[str, GT]:
    """Main metrics by judge in tasks and strata; then the first under each rule for missing answers."""
    frame = result.frame
    policy = policy_of(frame, None)
    kinds = list(dict.fromkeys(frame["metric"].astype(str)))
    recalls = [kind for kind in kinds if kind.startswith(("recall_", "specificity_"))]
    metrics = [kind for kind in kinds if kind in (BESIDE_RECALLS if recalls else METRICS) or kind in recalls]
    chosen, places = label_rows(rows_of_policy(frame, policy), result.settings, names)
    chosen = chosen[chosen["metric"].isin(metrics)]
    chosen = ranked(chosen, places)
    table = spread(
        chosen,
        {PLACE: chosen["_where"], "Judge": chosen["_who"]},
        pd.Series([metric_of_gold(kind, result.settings, names) for kind in chosen["metric"]]),
        score_cell,
    )
    table = _baselines_last(table, chosen)
    what = in_brackets(f"{level(result)} intervals", table)
    kinds_note = " Recall, specificity: share of the items with, or without, that label that are right."
    if result.settings.get("covers"):
        kinds_note = " Called: share of the items with that gold label which are answered so."
    note = f"{what}; {MISSING.get(policy, policy)}.{kinds_note * bool(recalls)}"
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
            score_cell,
        )
        note = f"{metric_in_words(first)} under each rule for these answers; {level(result)} intervals."
        tables["rules for answers without a label"] = grouped(by_policy, note)
    return tables


def _finding(result: Result, _: RecordedResult, report: ReportData) -> str:
    """What scores say, by the differences between judges where the same run has them."""
    record = next(iter(report.of_kind("differences")), None)
    return best_judges(result, report.names, report.read(record) if record else None)


@exhibit("scores", headline=_finding)
def _scores(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Scores with what they say."""
    finding = _finding(result, record, report)
    reading = finding.replace("\n\n", " ")
    return from_texts(TemplateCode(score_tables, reading=lambda *_: reading), result, record, report)


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
