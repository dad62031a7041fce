"""What figures of benchmarks share: terms in words, panels of task and strata, rows of judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ...frames.vocabulary import MAJORITY_BY_STRATUM
from ...numerics.metrics.label_metrics import METRICS
from ...numerics.metrics.probability_metrics import PROBABILITY_METRICS
from ..labels import ColumnNames, display_order, select_identifiers

METRIC_LABELS = {metric.name: metric.label for metric in (*METRICS, *PROBABILITY_METRICS)}
PASSES = {
    "pass_at_k": "At least one of k right (pass@k)",
    "pass_all_k": "All k right (pass^k)",
    "majority_of_k": "Most frequent of k right",
    "best_of_k": "Best of the first k, as published",
}
MISSING = {
    "wrong": "answers without a label count as wrong",
    "missing": "answers without a label are excluded",
    "study": "answers without a label count as in the study",
}
STATUSES = {
    "ok": "With a label",
    "other": "Another label",
    "refused": "Refused",
    "empty": "Empty",
    "truncated": "Cut off",
    "unparsed": "Not parsed",
    "error": "Failed",
    "missing": "Never asked",
}
READINGS = {
    "agree": "Same label by both rules",
    "different": "Different labels by the two rules",
    "only_lenient": "Label by the lenient rule only",
    "only_strict": "Label by the strict rule only",
    "neither": "No label by either rule",
}
RULES = {"published": "as published", "published_v1": "as published (v1)"}
BASELINES = {
    "majority class": "Always the most frequent label",
    "majority class by stratum": "Always the most frequent label of each stratum",
    "random": "Random label",
}
PERTURBED = {  # what each kind of perturbation does, in brackets behind its name
    "orthographic": " (typing errors)",
    "preserving": " (other words of the same meaning)",
    "drift": " (words that change the meaning, so that the gold label may no longer fit)",
    "dialect": " (words of another variety of the language)",
}
TESTS = {
    "bootstrap": "paired bootstrap",
    "mcnemar exact": "McNemar's exact test",
    "mcnemar mid-p": "McNemar's test, mid-p",
    "mcnemar clustered": "McNemar's test for clusters",
    "mixed logit": "mixed logit",
}
NO_ANSWER = "no answer"
OTHER_LABEL = "other label"


def metric_in_words(name: object, levels: dict[str, str] | None = None) -> str:
    """A metric in words; recall of a level names the level, and specificity what it is of: not a level."""
    text = str(name)
    if text in METRIC_LABELS:
        return METRIC_LABELS[text]
    if text in PASSES:
        return PASSES[text]
    kind, _, level = text.partition("_")
    label = METRIC_LABELS.get(kind, kind.capitalize())
    named = (levels or {}).get(level, level.replace("_", " "))
    return f"{label}: {'not ' * (kind == 'specificity')}{named}" if level else label


def metric_of_gold(name: object, settings: Mapping[str, Any], names: ColumnNames) -> str:
    """A metric in words; one of a label that counts as another class says what it is called."""
    kind, _, label = str(name).partition("_")
    covers: Mapping[str, Sequence[str]] = settings.get("covers") or {}
    of_class = next((of for of, labels in covers.items() if label in labels and of != label), "")
    if kind == "recall" and of_class:
        return f"{names.of('gold', label)} called {names.of('gold', of_class).lower()}"
    opposite = [of for of in covers if of != label]
    if kind == "specificity" and len(opposite) == 1:
        text = names.of("gold", opposite[0])
        return f"{text} called {text.lower()}"
    return metric_in_words(name)


def policy_in_words(policy: str) -> str:
    """What a missing answer counts as, as a heading."""
    text = MISSING.get(policy, policy)
    return text[:1].upper() + text[1:]


def rule_in_words(rule: object) -> str:
    """The name of a reading rule without its form and version."""
    name = str(rule).rpartition("/")[2].partition("@")[0]
    return RULES.get(name, name.replace("_", " "))


JUDGES = "judge"


def strata_of(settings: Mapping[str, Any], frame: pd.DataFrame) -> list[str]:
    """Columns of strata of a result, from its settings."""
    return [str(name) for name in settings.get("by") or [] if name in frame.columns]


def rows_of_task(frame: pd.DataFrame, task: str | None) -> tuple[pd.DataFrame, str]:
    """Rows of one task, by default the first, and its name; InputError for one that is not there."""
    name = select_identifiers(frame["task"], [task] if task else None, "task")[0]
    return frame[frame["task"].astype(str) == name], name


def rows_of_judges(frame: pd.DataFrame, judges: Sequence[str] | None) -> pd.DataFrame:
    """Rows of the judges that are asked for, by default of all; InputError for one that is not there."""
    return frame[frame["judge"].astype(str).isin(select_identifiers(frame["judge"], judges, "judge"))]


def panels_in_words(frame: pd.DataFrame, columns: Sequence[str], names: ColumnNames) -> pd.Series[Any]:
    """Task and strata of each row in words, without columns that hold one value only."""
    key_columns = [name for name in columns if frame[name].nunique(dropna=False) > 1]
    return pd.Series(names.joined(frame, key_columns), index=frame.index, dtype=object)


def judges_in_words(
    frame: pd.DataFrame, names: ColumnNames, where: Sequence[str] = ("task",)
) -> pd.Series[Any]:
    """Judge of each row in words, with the prompt where a judge has several in one task and stratum."""
    labels = names_of_judges(frame["judge"], names)
    if "prompt" not in frame:
        return labels
    prompt = frame["prompt"].astype("string").fillna("")
    keys = [frame[name].astype(str) for name in ("judge", *where) if name in frame]
    if not (prompt.groupby(keys, sort=False).nunique() > 1).any():
        return labels
    texts = [
        f"{label}, {names.of('prompts', two)}" if two else label
        for label, two in zip(labels, prompt, strict=True)
    ]
    return pd.Series(texts, index=frame.index, dtype=object)


def names_of_judges(column: pd.Series[Any], names: ColumnNames) -> pd.Series[Any]:
    """Judges in words; baselines have words of their own."""
    return column.astype(str).map(lambda name: BASELINES.get(name, names.of("judge", name)))


def texts_in_display_order(texts: pd.Series[Any], frame: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Distinct texts in the display order of the columns that they come from, the first column slowest."""
    if not columns:
        return list(dict.fromkeys(texts))
    ranks = {
        name: frame[name].astype(str).map({level: k for k, level in enumerate(display_order(frame[name]))})
        for name in columns
    }
    ranked = pd.DataFrame(ranks, index=frame.index).assign(_text=texts).sort_values(list(columns))
    return list(dict.fromkeys(ranked["_text"]))


def label_rows(
    frame: pd.DataFrame, settings: Mapping[str, Any], names: ColumnNames
) -> tuple[pd.DataFrame, list[str]]:
    """Add to each row its task and stratum (``_where``) and its judge (``_who``) in words; and all places."""
    where = ["task", *strata_of(settings, frame)]
    general = BASELINES[MAJORITY_BY_STRATUM]
    exact = baseline_in_words(MAJORITY_BY_STRATUM, settings, names)
    judges = judges_in_words(frame, names, where).map(lambda text: text.replace(general, exact))
    table = frame.assign(_where=panels_in_words(frame, where, names), _who=judges)
    return table, texts_in_display_order(table["_where"], table, where)


def baseline_in_words(judge: str, settings: Mapping[str, Any], names: ColumnNames) -> str:
    """A baseline in words: that of strata names what they are."""
    if judge == MAJORITY_BY_STRATUM and settings.get("strata"):
        return f"Always {most_frequent(settings, names)}"
    return BASELINES.get(judge, judge)


def most_frequent(settings: Mapping[str, Any], names: ColumnNames) -> str:
    """The label of the baseline that judges are compared with, and of what it is the most frequent one."""
    strata = [names.column(name).lower() for name in settings.get("strata") or []]
    return f"the most frequent label{' of each ' + ' and '.join(strata) if strata else ''}"


def label_pairs(
    frame: pd.DataFrame, settings: Mapping[str, Any], names: ColumnNames
) -> tuple[pd.DataFrame, list[str]]:
    """Add to each row its task, stratum and, of several, prompt in words (``_where``); and all places."""
    where = ["task", *strata_of(settings, frame)]
    if "prompt" in frame and (frame.groupby(where, observed=True)["prompt"].nunique() > 1).any():
        where = ["prompt", *where]
    table = frame.rename(columns={"prompt": "prompts"})
    where = ["prompts" if name == "prompt" else name for name in where]
    table = table.assign(_where=panels_in_words(table, where, names))
    return table, texts_in_display_order(table["_where"], table, where)


def pairs_in_words(
    frame: pd.DataFrame, settings: Mapping[str, Any], names: ColumnNames, sign: str = " \N{MINUS SIGN} "
) -> list[str]:
    """What is compared in each row: two judges, or one judge under two conditions."""
    between = str(settings.get("between", JUDGES))
    if between == JUDGES:
        left_labels, right_labels = (names_of_judges(frame[side], names) for side in ("left", "right"))
    else:
        left_labels, right_labels = (
            frame[side].map(lambda name: names.of(between, name)) for side in ("left", "right")
        )
    pairs = [f"{first}{sign}{second}" for first, second in zip(left_labels, right_labels, strict=True)]
    if between == JUDGES or "judge" not in frame:
        return pairs
    return [
        f"{judge}: {pair}" for judge, pair in zip(names_of_judges(frame["judge"], names), pairs, strict=True)
    ]


def label_in_words(task: str, label: str, names: ColumnNames) -> str:
    """A label of a task in words."""
    if label in (NO_ANSWER, OTHER_LABEL):
        return "No label" if label == NO_ANSWER else label.capitalize()
    return names.of(task, label)


def places_of(frame: pd.DataFrame, names: ColumnNames) -> dict[str, int]:
    """Colours of the judges of a table (``judge``, in words ``_who``); none where one has several lines."""
    pairs = frame[["judge", "_who"]].astype(str).drop_duplicates()
    if pairs["judge"].duplicated().any():
        return {}
    return dict(zip(pairs["_who"], names.places_of(list(pairs["judge"])), strict=True))
