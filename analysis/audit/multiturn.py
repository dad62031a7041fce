"""The scores of the multi-turn joke paper as they were computed, errors included.

What differs from `scores`: every answer is scored against the item after its own, since an empty answer is
put in front of the list and the last is dropped; in the set of all languages the lists with their empty
answers are joined, so that the second language is two items late. Answers of k samples are pooled into one
table, F1 is averaged over all strings that occur in gold or answers, and a hard label counts as an AUC. Gold
labels that are no class form a class of their own, to which unread lines belong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, did_you_mean, listed
from conjury.inference.parsing.label_rules import joke_type, line_purpose
from conjury.inference.tables.columns import PAPER_KINDS, as_text
from conjury.inference.tables.schema import require_columns

from ..benchmark.data.units import CONDITION, LINE, answers_table, bases, conditions_of, gold_table
from ..frames.notes import excluding
from ..numerics.types import Codes, Floats
from ..results import Result
from .paper_comparison import JOKES, KIND, compare, published_numbers, refuse_empty

ALL = "full"  # set of all languages
NOT_A_CLASS = "NA"
EARLIER_RULES = range(9, 19)  # tables of the paper in which satire, parody and irony are apart
READ_BY = {"v1": "published_v1", "v2": "published"}
CULTURAL = "cultural"  # published name of dialect
CONDITIONS = {**PAPER_KINDS, CULTURAL: CULTURAL, "dialect": CULTURAL}
JOIN_KEY = ["set", "task", "condition", "judge", "metric", "k"]
SAMPLES = (1, 5)
COLUMNS = [
    *("table", "set", "task", "condition", "judge", "metric", "k", "printed", "recomputed", "difference"),
    "aligned",
]
RAW = "raw"  # column of labels with the label as the table had it
JUDGE = ("judge", "judge_kind", "prompt")
PROTOCOL = [*JUDGE, "task", "condition", "set", "metric", "rules", "k", "estimate", "n_units"]
VERSIONS = {"v1": 1, "v2": 2}
JOKE_TYPES = (
    *(
        "satire/parody/irony",
        "aggressive",
        "dry",
        "self-deprecating",
        "surreal/absurdism",
        "wordplay",
        "witty",
    ),
    *("topical", "observational/anecdotal", "dark"),
)
APART = ("satire", "parody", "irony")  # one type in version 2, three in version 1
LINE_PURPOSES = (
    *("establishing context", "setup", "escalation", "subversion", "callback", "misdirection", "timing"),
    *("meta-humor", "punchline", "redirection", "non-line", "wrap-up", "repetition"),
)
CONTAINED = (  # a gold purpose that contains a word is the purpose beside it; the first of these counts
    (("escalation",), "escalation"),
    (("context", "establishing"), "establishing context"),
    (("setup", "continuation"), "setup"),
    (("reaction", "interruption", "interaction"), "timing"),
    (("punchline",), "punchline"),
    (("transition", "reflection"), "redirection"),
)


def published_protocol(
    judgments: pd.DataFrame,
    labels: pd.DataFrame,
    *,
    items: pd.DataFrame | None = None,
    rules: str = "v2",
    shifted: bool = True,
    k: Sequence[int] = (1, 5),
    parts: Sequence[str] | None = None,
) -> Result:
    """Score answers by the protocol of the multi-turn joke paper.

    Parameters
    ----------
    judgments : DataFrame
        Parsed by the rules ``label/published`` and ``line_labels/published``: the strings of the answers,
        unparsed ones without a value. ``position`` is the place of the item among those asked; without it
        the order is that of ``labels``. All dimensions but ``line_1, line_2, ...`` are types of jokes. Each
        ``condition`` is scored by itself.
    labels : DataFrame
        Gold labels as they were written, in ``raw`` where there is that column, else in ``label``; lines
        without one may be left out. Copies without labels of their own have those of their
        ``base_item_id``; items without any are excluded.
    items : DataFrame, optional
        With ``language``, unless the judgments have that column, and ``condition`` and ``base_item_id`` of
        perturbed copies.
    rules : "v2" or "v1"
        Which version of the names: v2 folds case and takes satire, parody and irony for one type, v1 neither.
    shifted : bool
        False puts the answers where they belong, and leaves everything else as published.
    k : sequence of int
        Numbers of samples.
    parts : sequence of str, optional
        Languages in the order in which they are joined; by default that of the labels.

    Returns
    -------
    Result
        Kind "protocol": ``judge, judge_kind, prompt, task, condition, set`` (a language, or "full"), ``rules,
        metric`` (accuracy, macro_f1, auc), ``k, estimate, n_units``.

    Raises
    ------
    InputError
        For unknown rules, items without a language, or if no judged item has a gold label.

    Examples
    --------
    >>> judged = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": ["j1", "j2"],
    ...     "dimension": "joke_type", "value": ["dry", "dark"], "language": "en"})
    >>> gold = pd.DataFrame({"item_id": ["j1", "j2"], "label_set": "joke_type", "label": ["Dry", "Dry"]})
    >>> table = published_protocol(judged, gold, k=[1]).frame  # the first answer meets the second joke
    >>> table.set_index("metric")["estimate"].to_dict()
    {'accuracy': 0.5, 'macro_f1': 0.3333333333333333, 'auc': nan}
    """
    if rules not in VERSIONS:
        raise InputError(f"rules are '{rules}'{did_you_mean(rules, VERSIONS)}; use {listed(VERSIONS)}.")
    require_columns(judgments, ["item_id"], "judgments")
    originals = bases(judgments, items)
    gold = gold_table(labels.assign(label=labels[RAW]) if RAW in labels else labels, originals)
    gold = gold.assign(place=_places(gold["item_id"], originals))
    language = _languages(judgments, items, originals)
    condition = conditions_of(judgments, items).replace(CONDITIONS)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for name in condition.unique():
        answers = answers_table(judgments[(condition == name).to_numpy(dtype=bool)])
        for task in answers["task"].unique():
            questions, task_gold = answers[answers["task"] == task], gold[gold["task"] == task]
            notes += _unlabelled(questions, task_gold, str(task))
            ordered = _items_by_language(questions, task_gold, language, parts)
            scores = _scores_of(questions, task_gold, ordered, VERSIONS[rules], shifted, k)
            rows += [{"task": task, CONDITION: name, "rules": rules, **row} for row in scores]
    if not rows:
        raise InputError(
            f"labels: no judged item has a gold label (the first is '{judgments['item_id'].iloc[0]}'); give "
            "labels by the item_id of the judgments, or name the original of each copy in base_item_id."
        )
    settings = {"rules": rules, "shifted": shifted, "k": list(k)}
    table = pd.DataFrame(rows, columns=PROTOCOL)
    return Result(table, "protocol", (_NOTE if shifted else _UNSHIFTED, *dict.fromkeys(notes)), settings)


def _places(item: pd.Series[str], originals: Mapping[str, str]) -> list[int]:
    """Place of the item of each gold label in the order of the labels; copies have that of their original."""
    place = {name: number for number, name in enumerate(item.unique())}
    return [place.get(originals.get(name, name), place[name]) for name in item]


def _unlabelled(questions: pd.DataFrame, gold: pd.DataFrame, task: str) -> list[str]:
    """Count judged items of a task that are not scored."""
    n = int((~pd.Index(questions["item_id"].unique()).isin(gold["item_id"].unique())).sum())
    has = counted(n, "judged item has no gold label and is", "judged items have no gold label and are")
    return [excluding("{dimension}: {items} excluded.", dimension=task, items=has)] if n else []


def _scores_of(
    questions: pd.DataFrame,
    gold: pd.DataFrame,
    ordered: Mapping[str, list[str]],
    version: int,
    shifted: bool,
    k: Sequence[int],
) -> list[dict[str, Any]]:
    """Scores of each judge in each set, for one task under one condition."""
    task = str(questions["task"].iloc[0])
    answers, strings = _answer_codes(questions, task, version)
    sets = dict(ordered)
    if len(ordered) > 1:
        sets[ALL] = [item for each in ordered.values() for item in each]
    labelled = set(gold["item_id"])
    rows = []
    for name, order in sets.items():
        source = _sources(ordered if name == ALL else {name: order}, shifted)
        units = _gold_units(gold, [item for item in order if item in labelled], task, version)
        if units.empty:
            continue
        index = pd.MultiIndex.from_arrays([units["item_id"].map(source), units["line"]])
        moved = answers.reindex(index, fill_value=0)
        codes = strings.get_indexer(pd.Index(units["gold"]))
        codes = np.where(codes < 0, len(strings) + pd.factorize(units["gold"])[0], codes)
        for keys in questions[list(JUDGE)].drop_duplicates().to_dict("records"):
            of_judge = moved[tuple(keys.values())].to_numpy()
            rows += [{**keys, "set": name, **row} for row in _scores(codes, of_judge, k)]
    return rows


_NOTE = (
    "Scored as published: each answer is compared with the next item, all samples are pooled, F1 is "
    "over all strings, and the AUC is of a hard label."
)
_UNSHIFTED = "Scored as published, but each answer is compared with its own item."


def accuracy_of_k(gold: Codes, answers: Codes) -> float:
    """Share of n units that any of k answers meets; ``gold`` has shape (n,), ``answers`` (n, k)."""
    return float((answers == gold[:, None]).any(axis=1).mean())


def union_f1(gold: Codes, answers: Codes) -> float:
    """F1 of k n pairs, averaged over all strings that occur in gold or answers; shapes as above."""
    hits, in_gold, in_answers = _counts(gold, answers)
    occurs = in_gold + in_answers > 0
    return float((2 * hits[occurs] / (in_gold + in_answers)[occurs]).mean())


def hard_label_auc(gold: Codes, answers: Codes) -> float:
    """Half of one plus hit rate minus false alarm rate of k n pairs, averaged over the strings in gold."""
    # The area under a curve of one point: the balanced accuracy of each class against the others.
    hits, in_gold, in_answers = _counts(gold, answers)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = (1 + hits / in_gold - (in_answers - hits) / (answers.size - in_gold)) / 2
    return float(each[in_gold > 0].mean())


def _counts(gold: Codes, answers: Codes) -> tuple[Floats, Floats, Floats]:
    """How often each string is right, in gold, and given, over all pairs."""
    pairs = np.broadcast_to(gold[:, None], answers.shape)
    n = int(max(gold.max(), answers.max())) + 1
    hits, in_gold, in_answers = (
        np.bincount(codes.ravel(), minlength=n).astype(float)
        for codes in (pairs[pairs == answers], pairs, answers)
    )
    return hits, in_gold, in_answers


def gold_string(label: str, task: str, version: int) -> str:
    """Class of a gold label as written; "NA" for what is none."""
    if task == LINE:
        name = line_purpose(label, version)
        name = next((purpose for words, purpose in CONTAINED if any(word in name for word in words)), name)
        return name if name in LINE_PURPOSES else NOT_A_CLASS
    name = joke_type(label, version)
    types = JOKE_TYPES if version > 1 else (*JOKE_TYPES[1:], *APART)
    return name if name in types else NOT_A_CLASS


def _scores(gold: Codes, answers: Codes, k: Sequence[int]) -> list[dict[str, Any]]:
    rows = []
    for size in (size for size in k if size <= answers.shape[1]):
        first = answers[:, :size]
        scores = {
            "accuracy": accuracy_of_k(gold, first),
            "macro_f1": union_f1(gold, first),
            "auc": hard_label_auc(gold, first),
        }
        rows += [
            {"metric": name, "k": size, "estimate": value, "n_units": len(gold)}
            for name, value in scores.items()
        ]
    return rows


def _languages(
    judgments: pd.DataFrame, items: pd.DataFrame | None, originals: Mapping[str, str]
) -> dict[str, str]:
    """Language of each judged item, by the items or the judgments; copies may have that of their original."""
    sources = [table for table in (judgments, items) if table is not None and "language" in table]
    if not sources:
        require_columns(judgments, ["language"], "judgments")
    languages: dict[str, str] = {}
    for source in sources:
        each = source[["item_id", "language"]].dropna().drop_duplicates()
        languages |= dict(zip(as_text(each["item_id"]), as_text(each["language"]), strict=True))
    languages |= {
        copy: languages[item]
        for copy, item in originals.items()
        if copy not in languages and item in languages
    }
    judged = as_text(judgments["item_id"]).dropna().unique()
    lacking = [item for item in judged if pd.isna(languages.get(item))]
    if lacking:
        raise InputError(f"items: item '{lacking[0]}' has no language; the published sets are made of them.")
    return languages


def _items_by_language(
    questions: pd.DataFrame, gold: pd.DataFrame, language: Mapping[str, str], parts: Sequence[str] | None
) -> dict[str, list[str]]:
    """Judged items by language, in the order in which they were asked."""
    judged = questions.drop_duplicates("item_id")
    place = judged["item_id"].map(gold.drop_duplicates("item_id").set_index("item_id")["place"])
    judged = judged.assign(place=place, part=judged["item_id"].map(language)).sort_values(
        "place", kind="stable"
    )
    names = list(parts) if parts is not None else list(judged["part"].unique())
    if "position" in judged:
        judged = judged.sort_values("position", kind="stable")
    return {name: judged["item_id"][judged["part"] == name].tolist() for name in names}


def _sources(ordered: Mapping[str, Sequence[str]], shifted: bool) -> dict[str, str | None]:
    """Whose answer each item is scored with: the lists of answers, shifted by an empty one each, joined."""
    items = [item for each in ordered.values() for item in each]
    answers = [item for each in ordered.values() for item in ((None, *each) if shifted else each)]
    return dict(zip(items, answers, strict=False))


def _gold_units(gold: pd.DataFrame, order: Sequence[str], task: str, version: int) -> pd.DataFrame:
    """Units of items in their order, with their class; lines up to the last that is labelled."""
    labelled = gold.set_index(["item_id", "line"])["label"]
    if task == LINE:
        last = gold.groupby("item_id")["line"].max()
        units = [(item, line) for item in order for line in range(1, int(last.get(item, 0)) + 1)]
    else:
        units = [(item, 0) for item in order]
    labels = labelled.reindex(pd.MultiIndex.from_tuples(units, names=["item_id", "line"])).fillna("")
    classes = {label: gold_string(label, task, version) for label in labels.unique()}
    return labels.map(classes).rename("gold").reset_index()


def _answer_codes(questions: pd.DataFrame, task: str, version: int) -> tuple[pd.DataFrame, pd.Index[str]]:
    """Answers in codes, units by judge and sample, and the strings; code 0 stands for no answer."""
    name: Callable[[str, int], str] = line_purpose if task == LINE else joke_type
    raw, values = pd.factorize(questions["value"].fillna(""))
    names = [name(str(value), version) for value in values]
    if task == LINE:
        names = [each if each in LINE_PURPOSES else NOT_A_CLASS for each in names]
    strings = pd.Index(list(dict.fromkeys([NOT_A_CLASS if task == LINE else "", *names])))
    codes = strings.get_indexer(pd.Index(names))[raw]
    wide = questions.assign(code=codes).pivot(
        index=["item_id", "line"], columns=[*JUDGE, "sample"], values="code"
    )
    return wide.fillna(0).astype(np.int64).sort_index(axis=1), strings


def compare_multiturn(
    judgments: Mapping[str, pd.DataFrame], labels: pd.DataFrame, items: pd.DataFrame | None = None
) -> Result:
    """Recompute the printed scores of the multi-turn joke paper from answers read by its rules.

    Parameters
    ----------
    judgments : mapping of "v1" and "v2" to DataFrame
        Answers read by the rules ``published_v1``, of which tables 9 to 18 were made, and ``published``, of
        which the others were made; either may lack. With ``condition`` where items were perturbed,
        by our names or those of the published files (ortho, sem_drift, sem_pres, cultural).
    labels : DataFrame
        Gold labels as they were written, in the column ``raw`` where ``label`` contains ids.
    items : DataFrame, optional
        With ``language``, and ``base_item_id`` of perturbed copies.

    Returns
    -------
    Result
        Kind "published_scores": ``table, set, task, condition, judge, metric, k, printed``; ``recomputed`` by
        the published protocol, ``difference`` (recomputed minus printed), and ``aligned``, the same with each
        answer on its own item. Printed numbers of conditions without answers are counted in a note.

    Raises
    ------
    InputError
        Where no published number is of these answers.

    Examples
    --------
    >>> labels = pd.DataFrame({"item_id": ["j1"], "label_set": "joke_type", "label": "dry", "raw": "dry"})
    >>> answers = pd.DataFrame({"item_id": ["j1"], "judge_id": "qwen3_8b", "judge_kind": "model",
    ...     "dimension": "joke_type", "value": "dry", "language": "en"})
    >>> found = compare_multiturn({"v1": answers}, labels).frame
    >>> found.loc[found["metric"] == "accuracy", ["printed", "recomputed"]].round(3).values.tolist()
    [[0.024, 0.0]]
    """
    printed = published_numbers(JOKES).rename(columns={"subset": "set", "value": "printed"})
    parts, notes = [], []
    for rules, tables in _by_rules(printed).items():
        if rules not in judgments:
            notes.append(
                f"{len(tables):,} published numbers are of answers parsed by rules {rules} and are "
                f"not compared; import the completions with --parser {READ_BY[rules]} too."
            )
            continue
        ours = _recomputed_scores(judgments[rules], labels, items, rules)
        conditions = ours[CONDITION].unique()
        notes += _unpublished(conditions, printed[CONDITION])
        parts.append(compare(ours, tables, JOIN_KEY, estimate="recomputed"))
        rows = tables[~tables[CONDITION].isin(conditions)]
        if len(rows):
            lacking = listed(rows[CONDITION].drop_duplicates())
            notes.append(
                f"{len(rows):,} published numbers are not compared: there are no answers parsed by rules "
                f"{rules} under these conditions: {lacking}."
            )
    table = pd.concat(parts, ignore_index=True) if parts else printed.iloc[:0]
    notes = list(dict.fromkeys(notes))
    refuse_empty(table, JOKES, " ".join(["judges and languages.", *notes]).removesuffix("."))
    table = table.sort_values("table", kind="stable")[COLUMNS].reset_index(drop=True)
    return Result(table, KIND, tuple(notes), {"digits": 3})


def _recomputed_scores(
    answers: pd.DataFrame, labels: pd.DataFrame, items: pd.DataFrame | None, rules: str
) -> pd.DataFrame:
    """Scores by the published protocol as ``recomputed``, without the shift as ``aligned``; keys as text."""
    tables = []
    for name, shifted in (("recomputed", True), ("aligned", False)):
        result = published_protocol(answers, labels, items=items, rules=rules, shifted=shifted, k=SAMPLES)
        texts = result.frame.astype(dict.fromkeys(PROTOCOL[:7], str))
        tables.append(texts.rename(columns={"estimate": name}))
    keys = [name for name in PROTOCOL if name != "estimate"]
    return tables[0].merge(tables[1], on=keys, validate="one_to_one")[[*JOIN_KEY, "recomputed", "aligned"]]


def _unpublished(conditions: Iterable[str], printed: pd.Series[str]) -> list[str]:
    """Name conditions of answers about which nothing was published, and the names that are known."""
    unknown = [name for name in conditions if name not in set(printed)]
    if not unknown:
        return []
    names = listed([*printed.drop_duplicates(), *CONDITIONS])
    return [
        f"Answers under {listed(unknown)} are not compared: published numbers are about the conditions "
        f"{names}. Rename the condition in the completions if it is one of these, and import them again."
    ]


def _by_rules(printed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    earlier = printed["table"].isin(EARLIER_RULES)
    return {"v1": printed[earlier], "v2": printed[~earlier]}
