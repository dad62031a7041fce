"""Tables of results on benchmarks, laid out for reading in the one table style."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...benchmark.confusion import use_of_labels
from ...figures.benchmark.annotators import distinction_in_words, rows_in_words, shown_agreement
from ...figures.benchmark.by_label import shown_labels
from ...figures.benchmark.confusion import is_right, label_in_words, shown_confusion
from ...figures.benchmark.curves import level_of
from ...figures.benchmark.differences import (
    beside_the_best,
    of_many_judges,
    one_test,
    pairs_in_words,
    pairs_placed,
)
from ...figures.benchmark.panels import judges_in_words, placed
from ...figures.benchmark.policies import policies_apart
from ...figures.benchmark.scores import policy_of
from ...figures.benchmark.terms import (
    BASELINES,
    MISSING,
    READINGS,
    STATUSES,
    TESTS,
    metric_in_words,
    policy_in_words,
    rule_in_words,
)
from ...figures.labels import LabelKey, words
from ...figures.raters.naming import Names
from ...figures.raters.terms import COEFFICIENTS
from ...vocabulary import BASELINE, FEWEST_GOLD
from ..cells import any_table, estimate_cell, in_brackets, spread, with_gaps
from ..tables import NO_BREAK, STAR_RULE, interval, number, p_value, stars, styled_table, whole

if TYPE_CHECKING:
    from great_tables import GT

    from ...results import Result

SHOWN = ("accuracy", "balanced_accuracy", "macro_f1", "mcc", "auc", "log_loss", "missing_rate")
BESIDE_RECALLS = ("accuracy", "macro_f1")
MISTAKES = 3
MOST_PAIRS = 6
MOST_COLUMNS = 8
MORE, LESS = "\N{UPWARDS ARROW}", "\N{DOWNWARDS ARROW}"
PLACE = "place"
SURPLUS = "Surplus labels"
SURPLUS_NOTE = "Surplus labels are of lines beyond those that were shown; they are not among the judgments."


def lay_out(result: Result, name: str, labels: Mapping[LabelKey, str]) -> list[GT]:
    """Tables of a result in the style of reports."""
    told = Names(labels)
    if result.kind in LAYOUTS:
        return LAYOUTS[result.kind](result, told, name)
    return any_table(result.frame, told, name)


def score_tables(result: Result, told: Names, name: str) -> list[GT]:
    """Main metrics by judge in tasks and strata; then the first under each rule for missing answers."""
    frame = result.frame
    policy = policy_of(frame, None)
    there = list(dict.fromkeys(frame["metric"].astype(str)))
    recalls = [kind for kind in there if kind.startswith(("recall_", "specificity_"))]
    metrics = [kind for kind in there if kind in (BESIDE_RECALLS if recalls else SHOWN) or kind in recalls]
    chosen, places = placed(frame[frame["missing"].astype(str) == policy], result.settings, told)
    chosen = chosen[chosen["metric"].isin(metrics)]
    chosen = chosen.iloc[_ranked(chosen, places)]
    shown = spread(
        chosen,
        {PLACE: chosen["_where"], "Judge": chosen["_who"]},
        pd.Series([metric_in_words(kind) for kind in chosen["metric"]]),
        estimate_cell,
    )
    shown = _baselines_last(shown, chosen)
    what = in_brackets(f"{_level(result)} intervals", shown)
    note = f"{what}; {MISSING.get(policy, policy)}."
    tables = [_grouped(shown, name, with_gaps(note, shown, "not defined, or no draw differs"))]
    first = metrics[0]
    of_first, places = placed(
        frame[(frame["metric"] == first) & (frame["judge_kind"] != BASELINE)], result.settings, told
    )
    apart = policies_apart(of_first)
    if len(apart) > 1:
        of_first = of_first[of_first["missing"].astype(str).isin(apart)]
        of_first = of_first.iloc[_ranked(of_first, places)]
        by_policy = spread(
            of_first,
            {PLACE: of_first["_where"], "Judge": of_first["_who"]},
            of_first["missing"].astype(str).map(policy_in_words),
            estimate_cell,
        )
        note = f"{metric_in_words(first)} under each rule for missing answers; {_level(result)} intervals."
        tables.append(_grouped(by_policy, f"{name}-policies", note))
    return tables


def pass_tables(result: Result, told: Names, name: str) -> list[GT]:
    """Scores of k answers, k as columns; by strata only the first score."""
    own = _one_policy(result.frame)
    if result.settings.get("by"):
        own = own[own["metric"] == own["metric"].iloc[0]]
    frame, places = placed(own, result.settings, told)
    rank = _ranked(frame, places)
    frame = frame.iloc[rank]
    rules = [metric_in_words(kind) for kind in frame["metric"]]
    group = [
        f"{rule}: {place}" if place else rule for rule, place in zip(rules, frame["_where"], strict=True)
    ]
    frame = frame.assign(_group=pd.Categorical(group, list(dict.fromkeys(_by_rule(frame, group)))))
    frame = frame.sort_values("_group", kind="stable")
    shown = spread(
        frame,
        {PLACE: frame["_group"], "Judge": frame["_who"]},
        "k = " + frame["k"].astype(int).astype(str),
        lambda row: number(row["estimate"], 3),
    )
    shown = _baselines_last(shown, frame)
    note = "Of most frequent and best answers the first k count; of the others all subsets of k answers."
    if result.settings.get("by"):
        note = "Over all subsets of k answers. The folder has the other scores."
    return [_grouped(shown, name, note)]


def confusion_tables(result: Result, told: Names, name: str) -> list[GT]:
    """The most frequent mistakes of each judge."""
    frame, task = shown_confusion(result, None)
    frame = frame.assign(_who=judges_in_words(frame, told))
    wrong = frame[~is_right(frame, result.settings) & (frame["n"] > 0)]
    top = wrong.sort_values("n", ascending=False, kind="stable").groupby("_who", sort=False).head(MISTAKES)
    order = list(dict.fromkeys(frame["_who"]))
    top = top.assign(_rank=top["_who"].map(order.index)).sort_values(["_rank", "n"], ascending=[True, False])
    shown = pd.DataFrame(
        {
            "judge": top["_who"],
            "Gold label": [label_in_words(task, str(label), told) for label in top["gold"]],
            "Answer": [label_in_words(task, str(label), told) for label in top["predicted"]],
            "Times": top["n"].map(whole),
            "Share of the gold label": top["share"].map(_percent),
        }
    )
    note = f"The {MISTAKES} most frequent mistakes of each judge, missing answers included."
    return [styled_table(shown, name=name, groups="judge", left=2, note=note)]


def label_tables(result: Result, told: Names, name: str) -> list[GT]:
    """How often labels are given, for every time they are gold, judges as columns."""
    frame, task = shown_labels(result, None)
    frame = frame.assign(_use=use_of_labels(frame, float(result.settings.get("alpha", 0.05))))
    by_label = frame.groupby(frame["label"].astype(str), sort=False)
    label = frame["label"].astype(str).map(lambda text: label_in_words(task, text, told))
    judge = judges_in_words(frame, told)
    units, answers = (by_label[name].transform("max").map(whole) for name in ("n_gold", "n_answers"))
    wide = judge.nunique() > MOST_COLUMNS
    rows = {"Judge": judge} if wide else {"Label": label, "Gold units": units, "Answers": answers}
    shown = spread(
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
    return [styled_table(shown, name=name, note=note)]


def reading_tables(result: Result, told: Names, name: str) -> list[GT]:
    """What became of answers, in percent; and how two rules compare."""
    tables = [_shares(result.frame, told, STATUSES, name, "Percent of the judgments of a judge.")]
    if "compared" in result.extra:
        note = "Percent of the judgments; the same answers read by two rules."
        tables.append(_shares(result.extra["compared"], told, READINGS, f"{name}-compared", note))
    return tables


def length_tables(result: Result, told: Names, name: str) -> list[GT]:
    """The longest items minus the shortest."""
    frame, places = placed(result.extra["ends"], result.settings, told)
    frame = frame.iloc[_ranked(frame, places)]
    shown = spread(
        frame,
        {PLACE: frame["_where"], "Judge": frame["_who"]},
        pd.Series([metric_in_words(kind) for kind in frame["metric"]]),
        lambda row: (
            f"{_signed(row['estimate'])}{stars(row.get('p_adjusted'))}{NO_BREAK}"
            f"{interval(row['lower'], row['upper'], 2)}"
        ),
    )
    groups = int(result.settings.get("groups", 0))
    within = [told.column(name).lower() for name in result.settings.get("within") or []]
    if within:
        spans = f"; groups are made within each {' and '.join(within)}"
    else:
        ends = result.frame.groupby("length_group")[["shortest", "longest"]].first()
        spans = (
            f" ({whole(ends['shortest'].iloc[-1])} to {whole(ends['longest'].iloc[-1])} characters by up to "
            f"{whole(ends['longest'].iloc[0])})"
        )
    note = (
        f"The longest of {groups} groups of items minus the shortest{spans}. {_level(result)} intervals; "
        f"adjusted p: {STAR_RULE}"
    )
    return [_grouped(shown, name, note)]


def difference_tables(result: Result, told: Names, name: str) -> list[GT]:
    """Paired differences with their tests; of many pairs those of the first score, with the best judge."""
    own = one_test(result.frame)
    if len(own[["left", "right"]].drop_duplicates()) > MOST_PAIRS:
        own = own[own["metric"] == own["metric"].iloc[0]]
    frame, places = pairs_placed(own, result.settings, told)
    many = of_many_judges(frame, result.settings)
    frame = beside_the_best(frame) if many else frame
    frame = frame.iloc[_ranked(frame, places)]
    metric = pd.Series([metric_in_words(kind) for kind in frame["metric"]], index=frame.index)
    place = metric + frame["_where"].map(lambda text: f": {text}" if text else "")
    shown = pd.DataFrame(
        {
            PLACE: place,
            "Compared": pairs_in_words(frame, result.settings, told),
            "Difference": [
                f"{_signed(row['estimate'])}{NO_BREAK}{interval(row['lower'], row['upper'], 2)}"
                for row in frame.to_dict("records")
            ],
            "p": frame["p"].map(p_value),
            "Adjusted p": frame["p_adjusted"].map(p_value),
            "Pairs": frame["n_pairs"].map(whole),
        }
    )
    tests = [TESTS.get(str(test), words(test)) for test in frame["test"].unique()] if "test" in frame else []
    note = f"First minus second on the same units; {_level(result)} intervals; {' and '.join(tests)}."
    if len(own) < len(one_test(result.frame)):
        note += " The folder has the other scores."
    if many:
        note += " Everyone is compared with the judge who is best there; the folder has all pairs."
    return [_grouped(shown, name, note)]


def mixed_tables(result: Result, told: Names, name: str) -> list[GT]:
    """Odds ratios of right answers, each item with an intercept of its own."""
    frame, places = pairs_placed(result.frame, result.settings, told)
    frame = frame.iloc[_ranked(frame, places)]
    shown = pd.DataFrame(
        {
            PLACE: frame["_where"],
            "Compared": pairs_in_words(frame, result.settings, told, " by "),
            "Odds ratio": [
                f"{number(row['odds_ratio'], 2)}{NO_BREAK}"
                f"{interval(row['odds_ratio_lower'], row['odds_ratio_upper'], 2)}"
                for row in frame.to_dict("records")
            ],
            "p": frame["p"].map(p_value),
            "Adjusted p": frame["p_adjusted"].map(p_value),
            "SD between items": frame["sd_items"].map(lambda value: number(value, 2)),
        }
    )
    note = f"{_level(result)} intervals. The odds of a right answer, of the first by those of the second."
    none = shown["Odds ratio"].str.strip(NO_BREAK) == ""
    shown.loc[none, "Odds ratio"] = ""
    return [
        _grouped(
            shown, name, with_gaps(note, shown, "a judge who is never or always right has no finite odds")
        )
    ]


def robustness_tables(result: Result, told: Names, name: str) -> list[GT]:
    """What perturbations change, kinds as columns."""
    frame, places = placed(result.frame, result.settings, told)
    frame = frame.iloc[_ranked(frame, places)]
    metric = pd.Series([metric_in_words(kind) for kind in frame["metric"]], index=frame.index)
    place = metric + frame["_where"].map(lambda text: f": {text}" if text else "")
    shown = spread(
        frame,
        {
            PLACE: place,
            "Judge": frame["_who"],
            "Unperturbed": frame["baseline"].map(lambda value: number(value, 2)),
        },
        frame["condition"].map(lambda text: told.of("condition", text)),
        lambda row: (
            f"{_signed(row['estimate'])}{stars(row.get('p_adjusted'))}{NO_BREAK}"
            f"{interval(row['lower'], row['upper'], 2)}"
        ),
    )
    note = f"Perturbed minus unperturbed, same items; {_level(result)} intervals. Adjusted p: {STAR_RULE}"
    return [_grouped(shown, name, note, left=1)]


def annotator_tables(result: Result, told: Names, name: str) -> list[GT]:
    """Agreement of annotators, coefficients as columns."""
    frame = shown_agreement(result)
    shown = spread(
        frame,
        {
            PLACE: frame["dimension"].map(lambda text: distinction_in_words(text, told)),
            "Items": pd.Series(rows_in_words(frame, result, told), index=frame.index),
            "Number": frame["n_items"].map(whole),
        },
        frame["coefficient"].map(lambda kind: COEFFICIENTS.get(kind, kind)),
        estimate_cell,
    )
    note = (
        f"{in_brackets(f'{_level(result)} intervals', shown)}. Observed agreement is that of pairs of people."
    )
    return [_grouped(shown, name, note)]


LAYOUTS: dict[str, Callable[[Result, Names, str], list[GT]]] = {
    "annotators": annotator_tables,
    "by_label": label_tables,
    "confusion": confusion_tables,
    "differences": difference_tables,
    "errors": length_tables,
    "mixed": mixed_tables,
    "passes": pass_tables,
    "probabilities": score_tables,
    "readings": reading_tables,
    "robustness": robustness_tables,
    "scores": score_tables,
}


def _grouped(shown: pd.DataFrame, name: str, note: str, left: int = 1) -> GT:
    """A table with places as headings of groups, unless there is one place without a name."""
    single = shown[PLACE].nunique() == 1 and not str(shown[PLACE].iloc[0])
    if single:
        return styled_table(shown.drop(columns=PLACE), name=name, note=note, left=left)
    return styled_table(shown, name=name, groups=PLACE, note=note, left=left)


def _baselines_last(shown: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Put rows of baselines, as ``judge`` and ``_who`` of ``frame`` name them, below those of judges."""
    trivial = set(frame.loc[frame["judge"].astype(str).isin(list(BASELINES)), "_who"].astype(str))
    return shown.sort_values("Judge", key=lambda names: names.isin(trivial), kind="stable")


def _ranked(frame: pd.DataFrame, places: list[str]) -> list[int]:
    """Positions of the rows, place by place."""
    rank = frame["_where"].map(places.index).to_numpy()
    return sorted(range(len(frame)), key=lambda at: int(rank[at]))


def _by_rule(frame: pd.DataFrame, group: list[str]) -> list[str]:
    """Names of groups, rule by rule."""
    pairs = list(zip(frame["metric"], group, strict=True))
    return [name for rule in dict.fromkeys(frame["metric"]) for own, name in pairs if own == rule]


def _one_policy(frame: pd.DataFrame) -> pd.DataFrame:
    if "missing" not in frame:
        return frame
    return frame[frame["missing"].astype(str) == policy_of(frame, None)]


def _shares(frame: pd.DataFrame, told: Names, names: Mapping[str, str], name: str, note: str) -> GT:
    frame = frame.assign(_rule=frame["rule"].astype("string").fillna("").map(rule_in_words))
    rows = {
        PLACE: frame["prompt"].map(lambda text: told.of("prompts", text)),
        "Judge": frame["judge"].map(lambda text: told.of("judge", text)),
    }
    if frame["_rule"].nunique() > 1:
        rows["Rule"] = frame["_rule"]
    known = [status for status in names if status in set(frame["status"].astype(str))]
    shown = spread(
        frame,
        rows,
        frame["status"].astype(str).map(lambda status: names.get(status, words(status))),
        lambda row: _percent(row["share"]),
    )
    shown = shown[[*rows, *(names[status] for status in known if names[status] in shown)]].fillna("0%")
    if "n_surplus" in frame and frame["n_surplus"].any():
        shown = shown.merge(_surplus(frame, rows), on=list(rows), how="left")
        note += " " + SURPLUS_NOTE
    return _grouped(shown, name, note, left=len(rows) - 1)


def _surplus(frame: pd.DataFrame, rows: Mapping[str, pd.Series[Any]]) -> pd.DataFrame:
    """Labels beyond the lines that were shown, for each row of a table of readings."""
    cells = frame.drop_duplicates(["judge", "prompt", "task", "rule"])
    named = {name: texts[cells.index] for name, texts in rows.items()}
    column = pd.Series(SURPLUS, index=cells.index)
    return spread(cells, named, column, lambda row: whole(row["n_surplus"]))


def _arrow(row: Mapping[Any, Any]) -> str:
    return {1: NO_BREAK + MORE, -1: NO_BREAK + LESS}.get(row["_use"], "")


def _signed(value: float) -> str:
    return ("+" if value > 0.004999 else "") + number(value, 2)


def _percent(share: float) -> str:
    return f"{number(100 * share, 0)}%"


def _level(result: Result) -> str:
    return level_of(result.settings)
