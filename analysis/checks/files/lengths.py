"""Numbers that have to agree: items, lines, gold labels, judgments, and the items of several runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.design.subjects import takes
from conjury.inference.errors import counted
from conjury.inference.readers.judgments import lines_of, strata_of, with_texts
from conjury.inference.study.asking import LineLabels
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note, join_notes
from ...frames.rounding import percentage
from ..judge_shares import judge_and_prompt
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check, worst

LENGTHS = Question(
    code="CJ401",
    name="lengths",
    title="Lengths and counts",
    text="Do items, lines, gold labels and judgments agree in number, and did all judges judge the same "
    "items?",
    consequence="Where numbers differ, answers are compared with labels of other lines or items, or answers "
    "are lost: scores of lines are too low, and judges are compared on different items.",
    remedy="Correct the files so that each item has one gold label per line and every judge has the same "
    "items; until then exclude the items listed, and report their number.",
    alarms="rule",
)
NOTHING = "There are no two tables of items, gold labels and judgments to compare."
LINE = r"line_([1-9]\d*)"
FEW = 0.2  # items without something are a loss up to this share, beyond it a part was never meant to have it
SOME = 0.05  # answers with another number of labels than lines, from which a reader should know
MANY = 0.05  # items with another number of gold labels than lines, from which conclusions can change


@check(LENGTHS)
def lengths(
    items: pd.DataFrame | None = None,
    labels: pd.DataFrame | None = None,
    judgments: pd.DataFrame | None = None,
    item_study: ItemStudy | None = None,
) -> Check:
    """Count what differs in number, with the items where it does."""
    if judgments is not None:
        judgments = judgments[judgments["item_id"].notna()] if "item_id" in judgments else None
    if sum(table is not None for table in (items, labels, judgments)) < 2 and judgments is None:
        raise NotApplicableError(NOTHING)
    parts = [
        *_gold_lines(items, labels, item_study),
        *_answered_lines(items, labels, judgments, item_study),
        *_unknown_items(items, labels, judgments),
        *_uncovered_items(items, labels, judgments, item_study),
        *_run_differences(judgments, items),
    ]
    if not parts:
        raise NotApplicableError(NOTHING)
    table = pd.DataFrame([row for row, *_ in parts])
    table = table.assign(estimate=table["n_differ"] / table["n"].clip(lower=1))
    verdicts = [verdict for _, verdict, *_ in parts]
    rows = pd.concat([evidence for _, _, _, evidence, _ in parts], ignore_index=True)
    alarms = [sentence for _, verdict, sentence, *_ in parts if verdict in ("warning", "error")]
    notes = [sentence for _, verdict, sentence, *_ in parts if verdict == "pass" and sentence]
    compared = list(dict.fromkeys(what for *_, what in parts))
    finding = join_notes([*alarms, *notes]) or Note.of("No number differs ({compared}).", compared=compared)
    return LENGTHS.answer(table, worst(verdicts), finding, rows=rows if len(rows) else None)


Part = tuple[dict[str, object], Verdict, str, pd.DataFrame, str]  # row, verdict, sentence, evidence, what


def _part(
    what: str,
    n: int,
    differ: pd.DataFrame,
    verdict: Verdict,
    sentence: str,
    judge: str = "",
    prompt: str = "",
) -> Part:
    n_differ = len(differ)
    row = {"judge": judge, "prompt": prompt, "label": str(what), "n": n, "n_differ": n_differ}
    return (
        row,
        verdict if n_differ else "pass",
        sentence if n_differ else "",
        differ.assign(what=str(what)),
        what,
    )


def line_counts(items: pd.DataFrame, study: ItemStudy | None) -> pd.Series[int] | None:
    """Number of lines of each item; None where its texts are not labelled by line."""
    columns = [r.lines for r in study.responses if isinstance(r, LineLabels)] if study is not None else []
    if study is not None and not columns:
        return None
    names = as_text(items["item_id"])
    if study is not None and all(column in items for column in columns):
        n_lines = lines_of(study, with_texts(items), "items")[columns[0]]
        return pd.Series(n_lines, dtype="int64")
    if "lines" in items:
        texts = as_text(with_texts(items)["lines"])
    elif "text" in items:
        texts = as_text(items["text"])
    elif "n_lines" in items:
        return pd.Series(items["n_lines"].to_numpy(), index=names.to_numpy()).dropna().astype("int64")
    else:
        return None
    counts = [0 if pd.isna(text) else len(text.splitlines()) for text in texts]
    return pd.Series(counts, index=names.to_numpy(), dtype="int64")


def gold_counts(labels: pd.DataFrame) -> pd.Series[int]:
    """Number of the last line with a gold label, by item."""
    line = as_text(labels["label_set"]).str.extract(f"^{LINE}$")[0]
    lines = pd.DataFrame({"item_id": as_text(labels["item_id"]), "line": line})[line.notna()]
    return lines.astype({"line": "int64"}).groupby("item_id")["line"].max()


def _gold_lines(
    items: pd.DataFrame | None, labels: pd.DataFrame | None, study: ItemStudy | None
) -> list[Part]:
    if items is None or labels is None:
        return []
    lines, gold = line_counts(items, study), gold_counts(labels)
    if lines is None or gold.empty:
        return []
    table = pd.DataFrame({"n_lines": lines, "n_labels": gold}).dropna().astype("int64")
    differ = table[table["n_lines"] != table["n_labels"]].rename_axis("item_id").reset_index()
    parts = []
    groups = _groups(items, table.index, study)
    for group in dict.fromkeys(groups):
        of_group = groups == group
        n = int(of_group.sum())
        mine = differ[differ["item_id"].isin(table.index[of_group])]
        share = len(mine) / max(n, 1)
        of = f" of {group}" if group else ""
        sentence = Note.of(
            "The number of gold labels differs from the number of lines in {n:,} of {items}{of} ({share}).",
            n=len(mine),
            items=counted(n, "item"),
            of=of,
            share=percentage(share, 1),
        )
        what = f"gold labels and lines{of}"
        parts.append(_part(what, n, mine, "error" if share > MANY else "warning", sentence))
    return parts


def _groups(items: pd.DataFrame, ids: pd.Index, study: ItemStudy | None) -> np.ndarray:
    """The first stratum of each item in words, by which counts are reported; empty without strata."""
    strata = [s for s in (study.strata if study is not None else []) if s.id in items]
    if not strata:
        return np.full(len(ids), "", dtype=object)
    words = {level.id: level.label for level in strata[0].levels}
    by_item = pd.Series(as_text(items[strata[0].id]).to_numpy(), index=as_text(items["item_id"]).to_numpy())
    return np.array([words.get(str(name), str(name)) for name in by_item.reindex(ids)], dtype=object)


def _answered_lines(
    items: pd.DataFrame | None,
    labels: pd.DataFrame | None,
    judgments: pd.DataFrame | None,
    study: ItemStudy | None,
) -> list[Part]:
    """Answers with fewer or more labels than lines, or than gold labels where lines are not known."""
    if judgments is None:
        return []
    line = as_text(judgments["dimension"]).str.extract(f"^{LINE}$")[0]
    of_lines = judgments[line.notna()]
    if of_lines.empty:
        return []
    names = as_text(of_lines["item_id"])
    has_label = as_text(of_lines["value"]).notna()
    frame = judge_and_prompt(of_lines).assign(
        item_id=names, sample=of_lines["sample"], line=line[line.notna()].astype("int64").where(has_label, 0)
    )
    if "labels_given" in of_lines and "lines_shown" in of_lines and of_lines["lines_shown"].notna().any():
        frame = frame.assign(given=of_lines["labels_given"], wanted=of_lines["lines_shown"])
        answers = frame.groupby(["judge", "prompt", "item_id", "sample"], as_index=False)[
            ["given", "wanted"]
        ].first()
    else:
        n_lines = line_counts(items, study) if items is not None else None
        if n_lines is None and labels is not None:
            n_lines = gold_counts(labels)
        if n_lines is None:
            return []
        answers = frame.groupby(["judge", "prompt", "item_id", "sample"], as_index=False)[["line"]].max()
        answers = answers.rename(columns={"line": "given"}).assign(wanted=answers["item_id"].map(n_lines))
    subset = answers[answers["wanted"].notna() & answers["given"].notna() & answers["given"].gt(0)]
    parts, shares = [], []
    for (judge, prompt), mine in subset.groupby(["judge", "prompt"], sort=False):
        differ = mine[mine["given"].ne(mine["wanted"])].rename(
            columns={"judge": "judge_id", "prompt": "prompt_id", "given": "n_labels", "wanted": "n_lines"}
        )
        share = len(differ) / len(mine)
        shares.append(share)
        sentence = Note.of(
            "{judge} gave another number of labels than there are lines in {n:,} of {answers} ({share}).",
            judge=judge,
            n=len(differ),
            answers=counted(len(mine), "answer"),
            share=percentage(share, 1),
        )
        verdict: Verdict = "warning" if share > SOME and len(differ) > 1 else "pass"
        parts.append(
            _part(
                "labels of answers and lines", len(mine), differ, verdict, sentence, str(judge), str(prompt)
            )
        )
    worst_place = int(np.argmax(shares)) if shares else 0  # one sentence is enough, the table has the others
    return [part if place == worst_place else (*part[:2], "", *part[3:]) for place, part in enumerate(parts)]


def _unknown_items(
    items: pd.DataFrame | None, labels: pd.DataFrame | None, judgments: pd.DataFrame | None
) -> list[Part]:
    if items is None:
        return []
    item_ids = set(as_text(items["item_id"]))
    parts = []
    for what, table, verdict in (("judgments", judgments, "error"), ("gold labels", labels, "warning")):
        if table is None:
            continue
        names = as_text(table["item_id"])
        differ = pd.DataFrame({"item_id": names[~names.isin(item_ids)].drop_duplicates()})
        sentence = Note.of(
            "{items} with {what} are not in the table of items.",
            items=counted(len(differ), "item"),
            what=what,
        )
        if len(differ) == 1:
            sentence = Note.of("1 item with {what} is not in the table of items.", what=what)
        parts.append(_part(f"{what} of unknown items", int(names.nunique()), differ, verdict, sentence))  # type: ignore[arg-type]
    return parts


def _uncovered_items(
    items: pd.DataFrame | None,
    labels: pd.DataFrame | None,
    judgments: pd.DataFrame | None,
    study: ItemStudy | None,
) -> list[Part]:
    if judgments is None:
        return []
    parts = []
    judged = set(as_text(judgments["item_id"]).unique())
    if items is not None:
        names = _items_of_prompts(items, study)
        if "modality" in items:  # judges that take no pictures are not asked about any
            modality = as_text(items["modality"]).reindex(names.index)
            names = names[modality.isin(modality[names.isin(judged)].unique()) | modality.isna()]
        absent_ids = names[~names.isin(judged)]
        parts.append(_missing_part("items without judgments", "have no judgment", names, absent_ids))
    if labels is not None:
        names = pd.Series(sorted(judged), dtype="string")
        absent_ids = names[~names.isin(as_text(labels["item_id"]).unique())]
        parts.append(
            _missing_part(
                "judged items without gold labels", "were judged but have no gold label", names, absent_ids
            )
        )
    return parts


def _missing_part(what: str, how: str, names: pd.Series[str], absent_ids: pd.Series[str]) -> Part:
    """A loss of few items is an accident; without most, the rest was not meant to have any."""
    share = len(absent_ids) / max(len(names), 1)
    sentence = Note.of(
        "{n:,} of {items} ({share}) {how}.",
        n=len(absent_ids),
        items=counted(len(names), "item"),
        share=percentage(share, 1),
        how=how,
    )
    verdict: Verdict = "warning" if share <= FEW else "pass"
    return _part(what, len(names), pd.DataFrame({"item_id": absent_ids}), verdict, sentence)


def _items_of_prompts(items: pd.DataFrame, study: ItemStudy | None) -> pd.Series[str]:
    """Items that a prompt of the study is put to."""
    names = as_text(items["item_id"])
    if study is None or not study.prompts or not all(prompt.only for prompt in study.prompts):
        return names
    columns = {column for prompt in study.prompts for column in prompt.only}
    if not columns <= set(items.columns):
        return names
    strata = strata_of(study.model_copy(update={"prompts": []}), items, "items")
    texts = {column: as_text(items[column]) for column in columns}
    mask = [
        any(
            takes(prompt, {**strata.get(str(item), {}), **{c: str(texts[c].iloc[row]) for c in columns}})
            for prompt in study.prompts
        )
        for row, item in enumerate(names)
    ]
    return names[np.array(mask, dtype=bool)]


def _run_differences(judgments: pd.DataFrame | None, items: pd.DataFrame | None) -> list[Part]:
    """Items that some runs of models have and others under the same prompt have not."""
    if judgments is None:
        return []
    model = judgments[(as_text(judgments["judge_kind"]) == "model").to_numpy(dtype=bool)]
    if model.empty:
        return []
    frame = judge_and_prompt(model).assign(item_id=as_text(model["item_id"]), sample=model["sample"])
    if "condition" in model:  # copies may be asked once, and originals several times
        frame["prompt"] = frame["prompt"] + "\x1f" + as_text(model["condition"]).fillna("")
    frame = frame.drop_duplicates()
    modality = pd.Series("", index=frame["item_id"].unique())
    if items is not None and "modality" in items:
        by_id = pd.Series(as_text(items["modality"]).to_numpy(), index=as_text(items["item_id"]).to_numpy())
        modality = by_id[~by_id.index.duplicated()].reindex(modality.index).fillna("")
    parts = []
    for prompt, mine in frame.groupby("prompt", sort=False):
        runs = mine.groupby(["judge", "sample"], sort=False)["item_id"].agg(frozenset)
        if len(runs) < 2:
            continue
        item_ids = mine["item_id"].unique()
        prompt_id, _, condition = str(prompt).partition("\x1f")
        differ = pd.DataFrame(_missing_items(runs, item_ids, modality, prompt_id))
        lacking = differ.groupby(["judge_id", "sample"]).size() if len(differ) else pd.Series(dtype=int)
        name = Note("", prompt=prompt_id, condition=condition)
        under = Note.of(" under {name}", name=name) if name else ""
        sentence = Note.of(
            "{n:,} of {n_runs:,} runs{under} lack items of other runs (at most {most:,} of {n_items:,}).",
            n=len(lacking),
            n_runs=len(runs),
            under=under,
            most=int(lacking.max()) if len(lacking) else 0,
            n_items=len(item_ids),
        )
        parts.append(
            _part(
                Note.of("items of runs{under}", under=under),
                len(runs) * len(item_ids),
                differ,
                "warning",
                sentence,
                prompt=str(name),
            )
        )
    return parts


def _missing_items(
    runs: pd.Series[Any], item_ids: np.ndarray, modality: pd.Series[str], prompt: str
) -> list[dict[str, object]]:
    """Items that a run lacks, of the modalities that its judge takes."""
    rows = []
    for judge, sample, have in runs.reset_index().itertuples(index=False, name=None):
        takes_them = set(modality[list(have)])
        rows += [
            {"judge_id": judge, "prompt_id": prompt, "sample": sample, "item_id": item}
            for item in item_ids
            if item not in have and modality[item] in takes_them
        ]
    return rows
