"""Printed numbers of benchmarks beside ours."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text, listed
from conjury.inference.tables.files import PUBLISHED, read_table
from conjury.inference.tables.streams import UNPERTURBED

from ..results import Result
from .multiturn import published

JOKES, HARM = "multiturn", "harm_or_humor"
STUDIES = (JOKES, HARM)
EARLIER_RULES = range(9, 19)  # tables of the joke paper that keep satire, parody and irony apart
READ_BY = {"v1": "published_v1", "v2": "published"}
PUBLISHED_NAMES = {"ortho": "orthographic", "sem_drift": "drift", "sem_pres": "preserving"}  # of conditions
K = (1, 5)
KEY = ["set", "task", "judge", "metric", "k"]
ALL = "all"


def printed_numbers(name: str) -> pd.DataFrame:
    """Read a table of printed numbers, as ``data/published/README.md`` lists them."""
    return read_table(PUBLISHED / f"{name}.csv")


def jokes_beside(
    judgments: Mapping[str, pd.DataFrame], labels: pd.DataFrame, items: pd.DataFrame | None = None
) -> Result:
    """Recompute the printed scores of the multi-turn joke paper from answers read by its rules.

    Parameters
    ----------
    judgments : mapping of "v1" and "v2" to DataFrame
        Answers read by the rules ``published_v1``, of which tables 9 to 18 were made, and ``published``, of
        which the others were made; either may lack. With ``condition`` where items were perturbed,
        by our names or those of the published files (ortho, sem_drift, sem_pres).
    labels : DataFrame
        Gold labels as they were written, in the column ``raw`` where ``label`` holds ids.
    items : DataFrame, optional
        With ``language``, and ``base_item_id`` of perturbed copies.

    Returns
    -------
    Result
        Kind "beside_print": ``table, set, task, condition, judge, metric, k, printed``; ``recomputed`` by the
        published protocol, ``difference`` (recomputed minus printed), and ``aligned``, the same with every
        answer on its own item. Printed numbers of conditions without answers are counted in a note.
    """
    printed = printed_numbers(JOKES).rename(columns={"subset": "set", "value": "printed"})
    parts, notes = [], []
    for rules, tables in _by_rules(printed).items():
        if rules not in judgments:
            notes.append(
                f"{len(tables):,} published numbers are of answers read by rules {rules} and are not "
                f"compared; import the completions with --parser {READ_BY[rules]} too."
            )
            continue
        held = _by_condition(judgments[rules], items)
        notes += _unpublished(held, printed["condition"])
        for condition, own in held.items():
            found = tables[tables["condition"] == condition]
            for column, shifted in (("recomputed", True), ("aligned", False)):
                ours = published(own, labels, items=items, rules=rules, shifted=shifted, k=K).frame
                ours = ours.assign(
                    **{name: ours[name].astype(str) for name in ("set", "task", "judge", "metric")}
                )
                found = found.merge(ours[[*KEY, "estimate"]].rename(columns={"estimate": column}), on=KEY)
            parts.append(found)
        apart = tables[~tables["condition"].isin(held)]
        if len(apart):
            conditions = listed(apart["condition"].drop_duplicates())
            notes.append(
                f"{len(apart):,} published numbers are not compared: there are no answers read by rules "
                f"{rules} under these conditions: {conditions}."
            )
    table = pd.concat(parts, ignore_index=True) if parts else printed.iloc[:0]
    if table.empty:
        why = " ".join(dict.fromkeys(notes))
        raise InputError(f"{JOKES}: no published number is about these judges and languages. {why}".strip())
    names = ["table", "set", "task", "condition", "judge", "metric", "k", "printed", "recomputed", "aligned"]
    table = table.sort_values("table", kind="stable")[names].reset_index(drop=True)
    table.insert(9, "difference", table["recomputed"] - table["printed"])
    return Result(table, "beside_print", tuple(dict.fromkeys(notes)), {"digits": 3})


def harm_beside(results: Mapping[str, Result], judge_labels: Mapping[str, str]) -> Result:
    """Set scores of judges who were printed in the harm paper, and agreement of people, beside print.

    Parameters
    ----------
    results : mapping
        By name: ``scores_modality_language``, ``scores_modality`` and ``annotators``, as far as they are
        there.
    judge_labels : mapping
        Judges in words; those whose words were printed are compared.

    Returns
    -------
    Result
        Kind "beside_print": ``table, set`` (modality and language)``, task, condition, judge, metric, k,
        printed, recomputed, difference``.
    """
    printed = printed_numbers("harm_or_humor_metrics").rename(columns={"judge": "label"})
    ids = {label: judge for judge, label in judge_labels.items()}
    known = printed[printed["label"].isin(list(ids))]
    known = known.assign(judge=known["label"].map(ids).astype(str), printed=known["percent"] / 100)
    found = [_harm_scores(results, known), _harm_agreement(results)]
    parts = [part for part in found if part is not None and len(part)]
    table = pd.concat(parts, ignore_index=True) if parts else known.iloc[:0]
    if table.empty:
        raise InputError(f"{HARM}: no printed number is about these judges, modalities and languages.")
    table = table.assign(task="harm", condition="none", k=1)
    table = table.assign(difference=table["recomputed"] - table["printed"])
    names = [
        "table",
        "set",
        "task",
        "condition",
        "judge",
        "metric",
        "k",
        "printed",
        "recomputed",
        "difference",
    ]
    return Result(table[names].reset_index(drop=True), "beside_print", (), {"digits": 3})


def _by_condition(judgments: pd.DataFrame, items: pd.DataFrame | None) -> dict[str, pd.DataFrame]:
    """Judgments by condition; copies take the id of the item that they come from, which has the labels."""
    if "condition" not in judgments:
        return {UNPERTURBED: judgments}
    source = judgments if "base_item_id" in judgments else items
    base: dict[str, str] = {}
    if source is not None and "base_item_id" in source:
        each = source[["item_id", "base_item_id"]].dropna().drop_duplicates()
        base = dict(zip(as_text(each["item_id"]), as_text(each["base_item_id"]), strict=True))
    condition = as_text(judgments["condition"]).fillna(UNPERTURBED)
    condition = condition.replace({"": UNPERTURBED, **PUBLISHED_NAMES})
    item = as_text(judgments["item_id"])
    named = judgments.assign(item_id=item.map(base).astype("string").fillna(item))
    return {str(name): named[(condition == name).to_numpy(dtype=bool)] for name in condition.unique()}


def _unpublished(held: Mapping[str, pd.DataFrame], printed: pd.Series[str]) -> list[str]:
    """Name conditions of answers about which nothing was published, and the names that are known."""
    unknown = [name for name in held if name not in set(printed)]
    if not unknown:
        return []
    known = listed([*printed.drop_duplicates(), *PUBLISHED_NAMES])
    return [
        f"Answers under {listed(unknown)} are not compared: published numbers are about the conditions "
        f"{known}. Rename the condition in the completions if it is one of these, and import them again."
    ]


def _by_rules(printed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    earlier = printed["table"].isin(EARLIER_RULES)
    return {"v1": printed[earlier], "v2": printed[~earlier]}


def _harm_scores(results: Mapping[str, Result], printed: pd.DataFrame) -> pd.DataFrame | None:
    frames = []
    for name in ("scores_modality_language", "scores_modality"):
        if name in results:
            frame = results[name].frame
            frame = frame[frame["missing"].astype(str) == "wrong"]
            language = frame["language"].astype(str) if "language" in frame else ALL
            frames.append(frame.assign(language=language, modality=frame["modality"].astype(str)))
    if not frames or printed.empty:
        return None
    ours = pd.concat(frames, ignore_index=True)
    ours = ours.assign(**{key: ours[key].astype(str) for key in ("judge", "metric")})
    ours = ours.rename(columns={"estimate": "recomputed"})
    found = printed.merge(
        ours[["modality", "language", "judge", "metric", "recomputed"]],
        on=["modality", "language", "judge", "metric"],
    )
    return found.assign(set=found["modality"] + " " + found["language"])


def _harm_agreement(results: Mapping[str, Result]) -> pd.DataFrame | None:
    if "annotators" not in results or "modality" not in results["annotators"].frame:
        return None
    ours = results["annotators"].frame
    ours = ours.assign(modality=ours["modality"].astype(str)).rename(
        columns={"dimension": "distinction", "estimate": "recomputed"}
    )
    printed = printed_numbers("harm_or_humor_agreement")
    percent = printed["coefficient"] == "percent"
    printed = printed.assign(printed=printed["value"].where(~percent, printed["value"] / 100))
    keys = ["modality", "distinction", "coefficient"]
    found = printed.merge(ours[[*keys, "recomputed"]], on=keys)
    return found.assign(
        set=found["modality"], judge="human", metric=found["distinction"] + " " + found["coefficient"]
    )
