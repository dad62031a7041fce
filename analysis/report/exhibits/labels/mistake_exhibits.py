"""Exhibits of benchmarks: mistakes, lengths, paired differences of judges, perturbed items."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from ....benchmark.confusion import use_of_labels
from ....figures.benchmark.benchmark_labels import (
    NO_ANSWER,
    PERTURBED,
    TESTS,
    judges_in_words,
    label_in_words,
    label_pairs,
    label_rows,
    metric_in_words,
    pairs_in_words,
)
from ....figures.benchmark.confusion_figures import confusion_of_task, is_right
from ....figures.benchmark.difference_figures import needs_matrix, pairs_with_best_judge, rows_of_first_test
from ....figures.benchmark.score_figures import select_label_rows
from ....figures.labels import ColumnNames, true_minus, words
from ....frames.vocabulary import FEWEST_GOLD
from ....numerics.significance import adjust_p_values
from ....results import Result
from ...method_sentences import code, plain
from ...report_data import ReportData
from ...sentences.label_sentences import (
    find_overused_labels,
    overused_in_words,
)
from ...sentences.ranking_sentences import SIGNS, clear_estimates_in_words, find_clear_estimates
from ...sentences.score_sentences import CopyScores, copies_scored_in_words
from ...table_format import (
    NO_BREAK,
    estimate_cell,
    number,
    p_value,
    spread,
    star_rule,
    stars,
    styled_table,
    whole,
    with_gaps,
)
from ..exhibit_registry import Drawn, Exhibit, ended, exhibit, level
from ..template import TemplateCode, from_texts, tables_of
from .score_exhibits import PLACE, grouped, metric_and_place, percent, ranked

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

VIEWED = {"judge": "judge", "value": "predicted"}  # filters of answers, and the columns that state them
MISTAKES = 3
EACH_JUDGE = "each judge"  # a table that only the first result of its kind shows
MOST_PAIRS = 6
MOST_CHANGES = 8  # of scores of perturbed items, that are described one by one
MOST_COLUMNS = 8
MORE, LESS = "\N{UPWARDS ARROW}", "\N{DOWNWARDS ARROW}"


def frequent_labels(result: Result, names: ColumnNames) -> str:
    """The label that each judge gives far too often, and how many labels are never given."""
    frame, task = select_label_rows(result, None)
    label = [label_in_words(task, text, names) for text in frame["label"].astype(str)]
    frame = frame.assign(_who=judges_in_words(frame, names), _label=label)
    often = use_of_labels(frame, float(result.settings.get("alpha", 0.05))) > 0
    return overused_in_words(find_overused_labels(frame, often))


def first_metric(frame: pd.DataFrame) -> str:
    """The first score of a table, as it is called inside a sentence."""
    metric = metric_in_words(str(frame["metric"].iloc[0]))
    return metric if metric[1:2].isupper() else metric[:1].lower() + metric[1:]


def largest_text(frame: pd.DataFrame, result: Result, what: str, signs: tuple[str, str, str] = SIGNS) -> str:
    """The largest of tested differences (``_what``) in the first score, and how many are clear."""
    rows = frame[(frame["metric"] == frame["metric"].iloc[0]).to_numpy()]
    metric = first_metric(rows)
    noun = (f"difference in {metric}{what}", f"differences in {metric}{what}") if what else ("", "")
    alpha = float(result.settings.get("alpha", 0.05))
    return _counted(rows, list(rows["_what"]), change_cells(rows), noun, alpha, signs)


def change_cells(rows: pd.DataFrame) -> list[str]:
    """Differences with their intervals and, where there are any, what they are of the first score."""
    relative = rows["relative"].fillna(0) if "relative" in rows else pd.Series(0.0, rows.index)
    return [
        estimate_cell(row, sign=True) + true_minus(f" ({change:+.0%})") * bool(change)
        for row, change in zip(rows.to_dict("records"), relative, strict=True)
    ]


def _counted(
    frame: pd.DataFrame,
    names: Sequence[str],
    cells: Sequence[str],
    noun: tuple[str, str],
    alpha: float,
    signs: tuple[str, str, str],
) -> str:
    """How many of some estimates have a small adjusted p, and the largest with its name."""
    texts = [f"{name} {cell}" for name, cell in zip(names, cells, strict=True)]
    is_clear = (frame["p_adjusted"] < alpha).where(frame["p_adjusted"].notna())
    rule = f"an adjusted p below {alpha:g}"
    return clear_estimates_in_words(find_clear_estimates(frame, texts, is_clear, noun, rule, signs=signs))


def joined(*columns: Iterable[Any]) -> list[str]:
    """Texts of several columns in each row, where not empty."""
    return [", ".join(filter(None, map(str, row))) for row in zip(*columns, strict=True)]


def lengths_text(result: Result, names: ColumnNames) -> str:
    """How much scores of the longest items differ from those of the shortest."""
    frame = label_rows(result.extra["ends"], result.settings, names)[0]
    frame["_what"] = joined(frame["_who"], frame["_where"])
    return largest_text(frame, result, " between the longest and the shortest items")


def changed_scores(result: Result, names: ColumnNames) -> str:
    """How scores differ on perturbed items: on average over judges, and of single judges."""
    means = result.extra.get("mean", pd.DataFrame())
    averaged = bool(len(means) and means["n_judges"].max() > 1)
    texts: list[str] = []
    for table in ([means.assign(judge="")] if averaged else []) + [result.frame]:
        frame = label_rows(table, result.settings, names)[0]
        frame = frame[(frame["metric"] == frame["metric"].iloc[0]).to_numpy()]
        if averaged and not texts:
            frame["p_adjusted"] = adjust_p_values(frame["p"].to_numpy(float), "holm")
        if len(frame) <= MOST_CHANGES:
            texts.append(copies_scored_in_words(_score_copies(frame, result, names)))
            continue
        condition = frame["condition"].map(lambda text: names.of("condition", text))
        frame["_what"] = joined(frame["_who"], frame["_where"], condition)
        over = ", on average over judges," * (averaged and not texts)
        texts.append(largest_text(frame, result, f"{over} between perturbed and original items"))
    return " ".join(texts)


def _score_copies(frame: pd.DataFrame, result: Result, names: ColumnNames) -> CopyScores:
    """Differences of one score by place, judge and kind of perturbation, with what each kind does."""
    alpha, explained = float(result.settings.get("alpha", 0.05)), set[str]()
    frame, metric, rows = frame.dropna(subset="estimate"), first_metric(frame), []
    for row, cell in zip(frame.to_dict("records"), change_cells(frame), strict=True):
        condition = str(row["condition"])
        meaning = names.meaning("condition", condition) or PERTURBED.get(condition, "")
        kind = names.of("condition", condition) + meaning * (condition not in explained)
        explained.add(condition)
        place = ", ".join(filter(None, (row["_where"], row["_who"])))
        rows.append((place, kind, cell, bool(row["p_adjusted"] < alpha)))
    return CopyScores(metric, not frame["_who"].any(), alpha, tuple(rows))


def _where_mistakes_are(result: Result, record: RecordedResult, report: ReportData) -> list[Exhibit]:
    """The command that shows the answers behind a cell."""
    frame, _ = confusion_of_task(result, None)
    wrong = frame[~is_right(frame, result.settings) & (frame["predicted"].astype(str) != NO_ANSWER)]
    if wrong.empty or not wrong["n"].max():
        return []
    most = wrong.iloc[int(wrong["n"].to_numpy().argmax())]
    filters = (f"--filter {shlex.quote(f'{name}={most[key]}')}" for name, key in VIEWED.items())
    command = code(f"conjury view {report.run_folder} {' '.join(filters)}")
    return [Exhibit(f"The answers behind a cell, with what was shown: {command} (a judge and its label).")]


@tables_of("confusion", more=_where_mistakes_are)
def confusion(result: Result, names: ColumnNames) -> list[GT]:
    """How often each judge gives no answer, and its most frequent wrong labels."""
    frame, task = confusion_of_task(result, None)
    frame = frame.assign(_who=judges_in_words(frame, names))
    empty = frame["predicted"].astype(str) == NO_ANSWER
    wrong = frame[~is_right(frame, result.settings) & (frame["n"] > 0) & ~empty]
    n_empty = frame[empty & (frame["n"] > 0)].groupby("_who", sort=False)["n"].sum()
    n_answers = frame.groupby("_who", sort=False)["n"].sum()
    top = wrong.sort_values("n", ascending=False, kind="stable").groupby("_who", sort=False).head(MISTAKES)
    order = list(dict.fromkeys(frame["_who"]))
    top = top.assign(_rank=top["_who"].map(order.index)).sort_values(["_rank", "n"], ascending=[True, False])
    table = pd.DataFrame(
        {
            "judge": top["_who"],
            "Gold label": [label_in_words(task, str(label), names) for label in top["gold"]],
            "Answer": [label_in_words(task, str(label), names) for label in top["predicted"]],
            "Times": top["n"].map(whole),
            "Share of the gold label": top["share"].map(percent),
        }
    )
    missing = pd.DataFrame(
        {
            "judge": n_empty.index,
            "Gold label": "all labels",
            "Answer": label_in_words(task, NO_ANSWER, names),
            "Times": n_empty.map(whole).to_numpy(),
            "Share of the gold label": (n_empty / n_answers[n_empty.index]).map(percent).to_numpy(),
        }
    )
    table = pd.concat([missing, table], ignore_index=True)
    table = table.sort_values("judge", key=lambda who: who.map(order.index), kind="stable")
    note = f"Answers without a label, and the {MISTAKES} most frequent wrong labels of each judge."
    return [styled_table(table, groups="judge", n_left=2, note=note)]


@tables_of("by_label", reading=frequent_labels)
def by_label(result: Result, names: ColumnNames) -> list[GT]:
    """Numbers of times labels are given, divided by those they are gold, judges as columns."""
    frame, task = select_label_rows(result, None)
    frame = frame.assign(_use=use_of_labels(frame, float(result.settings.get("alpha", 0.05))))
    by_label = frame.groupby(frame["label"].astype(str), sort=False)
    label = frame["label"].astype(str).map(lambda text: label_in_words(task, text, names))
    judge = judges_in_words(frame, names)
    units, answers = (by_label[name].transform("max").map(whole) for name in ("n_gold", "n_answers"))
    wide = judge.nunique() > MOST_COLUMNS
    rows = {"Judge": judge} if wide else {"Label": label, "Gold units": units, "Answers": answers}
    table = spread(
        frame,
        rows,
        label + " (" + units + ")" if wide else judge,
        lambda row: number(row["ratio"], 2) + _arrow(row),
    )
    note = (
        f"Answers with a label by answers to units of which it is gold; {MORE} too often, {LESS} too rarely, "
        f"of labels with at least {FEWEST_GOLD} gold units: adjusted p below "
        f"{number(float(result.settings.get('alpha', 0.05)), 2)}, or never given. Units and answers are the "
        "most of any judge."
    )
    return [styled_table(table, note=note)]


@tables_of("errors", reading=lengths_text)
def lengths(result: Result, names: ColumnNames) -> list[GT]:
    """The longest items minus the shortest."""
    frame = ranked(*label_rows(result.extra["ends"], result.settings, names))
    table = spread(
        frame,
        {PLACE: frame["_where"], "Judge": frame["_who"]},
        pd.Series([metric_in_words(kind) for kind in frame["metric"]]),
        lambda row: estimate_cell(row, mark=stars(row.get("p_adjusted")), sign=True),
    )
    groups = int(result.settings.get("groups", 0))
    within = [names.column(name).lower() for name in result.settings.get("within") or []]
    if within:
        spans = f"; groups are made within each {' and '.join(within)}"
    else:
        ends = result.frame.groupby("length_group")[["shortest", "longest"]].first()
        spans = (
            f" ({whole(ends['shortest'].iloc[-1])} to {whole(ends['longest'].iloc[-1])} characters by up to "
            f"{whole(ends['longest'].iloc[0])})"
        )
    note = (
        f"The longest of {groups} groups of items minus the shortest{spans}; their shares of labels may "
        f"differ. {level(result)} intervals."
    )
    return [grouped(table, f"{note} {star_rule(_ADJUSTED)}".strip())]


def _between_judges(result: Result, names: ColumnNames) -> str:
    """How many differences between judges are clear, and the largest."""
    rows = label_pairs(rows_of_first_test(result.frame), result.settings, names)[0]
    rows["_what"] = joined(rows["_where"], pairs_in_words(rows, result.settings, names))
    return largest_text(rows, result, " between judges", ("", "", "the largest"))


def difference_tables(result: Result, names: ColumnNames) -> list[GT]:
    """Paired differences with their tests; of many pairs those of the first score, with the best judge."""
    rows = rows_of_first_test(result.frame)
    if len(rows[["left", "right"]].drop_duplicates()) > MOST_PAIRS:
        rows = rows[rows["metric"] == rows["metric"].iloc[0]]
    frame, places = label_pairs(rows, result.settings, names)
    many = needs_matrix(frame, result.settings)
    frame = pairs_with_best_judge(frame) if many else frame
    frame = ranked(frame, places)
    table = pd.DataFrame(
        {
            PLACE: metric_and_place(frame),
            "Compared": pairs_in_words(frame, result.settings, names),
            "Difference": [estimate_cell(row, sign=True) for row in frame.to_dict("records")],
            "p": frame["p"].map(p_value),
            "Adjusted p": frame["p_adjusted"].map(p_value),
            "Pairs": frame["n_pairs"].map(whole),
        }
    )
    tests = [TESTS.get(str(test), words(test)) for test in frame["test"].unique()] if "test" in frame else []
    note = f"First minus second on the same units; {level(result)} intervals; {' and '.join(tests)}."
    if len(rows) < len(rows_of_first_test(result.frame)):
        note += " The folder has the other scores."
    if many:
        note += " Everyone is compared with the judge whose score is highest there; the folder has all pairs."
    return [grouped(table, note)]


@exhibit("differences")
def differences(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Judges compared on the same items; many of them as a matrix."""
    code = TemplateCode(difference_tables, reading=_between_judges)
    shown_exhibit = from_texts(code, result, record, report)
    if not needs_matrix(rows_of_first_test(result.frame), result.settings):
        return shown_exhibit
    alpha = float(result.settings.get("alpha", 0.05))
    caption = (
        f"{ended(plain(record.title))} Colours: differences, row minus column, on the same items; dots: "
        f"adjusted p below {alpha:g}."
    )
    return replace(shown_exhibit, figures=[Drawn(result, caption)])


def _odds(result: Result, names: ColumnNames) -> str:
    """The odds ratio that is furthest from one, and how many differ from it."""
    frame = label_pairs(result.frame, result.settings, names)[0]
    rows = joined(frame["_where"], pairs_in_words(frame, result.settings, names, " divided by "))
    cells = [estimate_cell(row, "odds_ratio", "odds_ratio_") for row in frame.to_dict("records")]
    alpha, signs = float(result.settings.get("alpha", 0.05)), ("above 1", "below 1", "the farthest from 1")
    noun = ("ratio of the odds of a correct answer", "ratios of the odds of a correct answer")
    return _counted(frame, rows, cells, noun, alpha, signs)


@tables_of("mixed", reading=_odds)
def mixed(result: Result, names: ColumnNames) -> list[GT]:
    """Odds ratios of right answers, each item with an intercept of its own."""
    frame = ranked(*label_pairs(result.frame, result.settings, names))
    table = pd.DataFrame(
        {
            PLACE: frame["_where"],
            "Compared": pairs_in_words(frame, result.settings, names, " by "),
            "Odds ratio": [
                estimate_cell(row, "odds_ratio", "odds_ratio_") for row in frame.to_dict("records")
            ],
            "p": frame["p"].map(p_value),
            "Adjusted p": frame["p_adjusted"].map(p_value),
            "SD between items": frame["sd_items"].map(lambda value: number(value, 2)),
        }
    )
    note = (
        f"{level(result)} intervals. Odds of a correct answer of the first, divided by those of the second."
    )
    return [
        grouped(table, with_gaps(note, table, "a judge who is never or always correct has no finite odds"))
    ]


@tables_of("robustness", reading=changed_scores)
def robustness(result: Result, names: ColumnNames) -> dict[str, GT]:
    """Effects of perturbations, kinds as columns."""
    frame = ranked(*label_rows(result.frame, result.settings, names))
    table = spread(
        frame,
        {
            PLACE: metric_and_place(frame),
            "Judge": frame["_who"],
            "Unperturbed": frame["baseline"].map(lambda value: number(value, 2)),
        },
        frame["condition"].map(lambda text: names.of("condition", text)),
        lambda row: estimate_cell(row, mark=stars(row.get("p_adjusted")), sign=True),
    )
    note = f"Perturbed minus unperturbed, same items; {level(result)} intervals. {star_rule(_ADJUSTED)}"
    return {EACH_JUDGE: grouped(table, note.strip(), n_left=1), **_mean_changes(result, names)}


def _mean_changes(result: Result, names: ColumnNames) -> dict[str, GT]:
    """Mean change over judges, in points and as a share of the baseline."""
    frame = result.extra.get("mean", pd.DataFrame())
    if not len(frame) or frame["n_judges"].max() < 2:
        return {}
    frame, _ = label_rows(frame.assign(judge=""), result.settings, names)
    table = pd.DataFrame(
        {
            PLACE: metric_and_place(frame),
            "Perturbation": frame["condition"].map(lambda text: names.of("condition", text)),
            "Judges": frame["n_judges"].map(whole),
            "Unperturbed": frame["baseline"].map(lambda value: number(value, 2)),
            "Mean change": [estimate_cell(row, sign=True) for row in frame.to_dict("records")],
            "In percent of unperturbed": (100 * frame["relative"]).map(lambda value: number(value, 1)),
        }
    )
    note = f"Means over judges; {level(result)} intervals of the same items."
    return {"means over judges": grouped(table, note, n_left=1)}


_ADJUSTED = "Adjusted p:"


def _arrow(row: Mapping[Any, Any]) -> str:
    return {1: NO_BREAK + MORE, -1: NO_BREAK + LESS}.get(row["_use"], "")
