"""Answers of people that look like those of a model."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.special import gammaln

from conjury.inference.errors import counted
from conjury.inference.preparation.similar_texts import FEWEST_WORDS, folded, near_duplicates, words_of
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note
from ...frames.rounding import percentage
from ..item_texts import excerpt
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, adjusted, check, lowest, show_p
from .answers_by_task import answers_of_models, answers_of_people

MODEL_LIKE_PEOPLE = Question(
    code="CJ207",
    name="model_like_people",
    title="People who answer like a model",
    text="Do texts or judgments of people come from a model?",
    consequence="Agreement of this model with people is overestimated, and people's answers are not an "
    "independent standard for any model.",
    remedy="Inspect the texts listed, ask these people how they worked, and report results with and without "
    "them.",
    alarms="test",
)
NOTHING = "There are no texts of people, and no items that several people and a model judged."
TEXT_COLUMNS = ("text", "comment", "comments", "reason", "reasoning", "explanation", "rationale", "feedback")
PHRASES = (
    r"\bas an? (?:ai|artificial intelligence)(?: language)? (?:model|assistant)\b"
    r"|\bas a (?:large )?language model\b"
    r"|\bi(?:'m| am) (?:just )?an? (?:ai|language model)\b|\bmy knowledge cut-?off\b|\bmy training data\b"
    r"|^(?:certainly|of course|sure|absolutely)[!,.] (?:here(?:'s| is| are)|i(?:'d| would) be happy)\b"
    r"|\bi hope this helps\b|\blet me know if you(?:'d| would) like (?:me to|any)\b"
    r"|\bis there anything else i can help\b"
    r"|\bregenerate response\b|\bcomo (?:un )?modelo de lenguaje\b|\bals (?:ki|sprachmodell)\b"
    r"|\ben tant qu(?:e|')(?: ?ia| modèle de langage)\b"
    r"|作为(?:一个)?(?:人工智能|ai|语言模型)|(?:ai|言語モデル)として"
)
_PHRASE = re.compile(PHRASES)
_MARKUP = re.compile(r"\*\*[^*\n]+\*\*|^#{1,6} \S|^```|^\s*[-*] \*\*|\[[^\]\n]+\]\(https?://", re.MULTILINE)
PHRASE, MARKUP, COPIED, ALIKE = "phrase of a model", "Markdown", "text of a model", "text of another person"
LONG = 12  # words of texts of two people that are compared
FEW_MARKUP = 2
FEWEST_DEVIATING = 5  # answers in which a model deviates from most people
CLOSE = 0.8  # share of these in which a person gives the model's answer


@check(MODEL_LIKE_PEOPLE)
def model_like_people(
    judgments: pd.DataFrame | None = None, responses: pd.DataFrame | None = None, alpha: float = 0.05
) -> Check:
    """Search people's texts for those of models, and test their agreement with each model."""
    texts = pd.concat(
        [free_texts(table) for table in (judgments, responses) if table is not None] or [_NO_TEXTS]
    )
    rows = suspicious_texts(texts.reset_index(drop=True))
    agreement = pd.DataFrame(_agreement(judgments))
    people = texts.loc[texts["kind"] == "human", "judge"].nunique()
    if not people and agreement.empty:
        raise NotApplicableError(NOTHING)
    p: float | None = None
    flagged = pd.DataFrame()
    if len(agreement):
        close = agreement["estimate"] >= CLOSE
        agreement["p"] = agreement["p"].where(close, 1.0)
        agreement["p_adjusted"] = adjusted(agreement["p"].to_numpy(dtype=float))
        p = float(agreement["p_adjusted"].min())
        flagged = agreement[agreement["p_adjusted"] < alpha]
    table = _estimates(rows, people, agreement)
    is_markup = rows["what"].eq(MARKUP)
    counted_rows = rows[~is_markup | (is_markup.sum() >= FEW_MARKUP)]
    sentences = [
        *([_text_finding(counted_rows)] if len(counted_rows) else []),
        *([_agreement_finding(flagged)] if len(flagged) else []),
    ]
    if not sentences:
        return MODEL_LIKE_PEOPLE.answer(table, "pass", _no_finding(people, len(agreement)), p=p)
    grave = counted_rows["what"].isin([PHRASE, COPIED]).any() or len(flagged)
    verdict: Verdict = "error" if grave else "warning"
    evidence = [counted_rows]
    if len(flagged):
        evidence.append(
            flagged.rename(columns={"judge": "judge_id"})[["judge_id", "model", "n", "x"]].assign(
                what="agreement"
            )
        )
    ruled = len(counted_rows) > 0  # what the texts show does not depend on a test
    return MODEL_LIKE_PEOPLE.answer(
        table,
        verdict,
        " ".join(sentences),
        p=None if ruled else p,
        rows=pd.concat(evidence, ignore_index=True),
    )


def _estimates(rows: pd.DataFrame, people: int, agreement: pd.DataFrame) -> pd.DataFrame:
    """Shares of people with each kind of suspicious text, then each person's agreement with a model."""
    parts: list[dict[str, object]] = []
    for what in (PHRASE, MARKUP, COPIED, ALIKE) if people else ():
        by = rows.loc[rows["what"] == what, "judge_id"]
        parts.append(
            {"judge": "", "label": what, "panel": "Texts", "n": len(by), "estimate": by.nunique() / people}
        )
    if len(agreement):
        named = agreement.assign(label=agreement["judge"], panel=agreement["model"])
        parts += [{str(name): value for name, value in row.items()} for row in named.to_dict("records")]
    table = pd.DataFrame(parts)
    table.insert(1, "prompt", "")
    return table


def _text_finding(rows: pd.DataFrame) -> Note:
    kinds = rows["what"].value_counts(sort=False)
    first = rows.iloc[0]
    return Note.of(
        "{texts} of {people} {verb} like a model's ({kinds}). The first is by {judge}: \u201c{text}\u201d.",
        texts=counted(len(rows), "text"),
        people=counted(rows["judge_id"].nunique(), "person", "people"),
        verb="looks" if len(rows) == 1 else "look",
        kinds="; ".join(f"{kind}: {n}" for kind, n in kinds.items()),
        judge=first["judge_id"],
        text=first["text"],
    )


def _agreement_finding(flagged: pd.DataFrame) -> Note:
    best = lowest(flagged, flagged["p"])
    return Note.of(
        "{people} a model's answer where it deviates from most people: {judge} gives that of "
        "{judge2} in {followed} of {n} such answers, and deviates in {share} of the others (adjusted "
        "{p}).",
        people=counted(flagged["judge"].nunique(), "person gives", "people give"),
        judge=best["judge"],
        judge2=best["model"],
        followed=int(best["x"]),
        n=int(best["n"]),
        share=percentage(best["otherwise"], 0),
        p=show_p(float(best["p_adjusted"])),
    )


def _no_finding(n_people: int, n_agreements: int) -> str:
    sentences = []
    if n_people:
        sentences.append("No text of people looks like that of a model.")
    if n_agreements:
        sentences.append("No judgments of people follow those of a model.")
    return " ".join(sentences)


_NO_TEXTS = pd.DataFrame(columns=["judge", "kind", "item_id", "text", "plain"])


def free_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Texts that judges wrote: ``judge, kind, item_id, text, plain`` (folded)."""
    columns = [name for name in TEXT_COLUMNS if name in table]
    words = as_text(table["value"]).dropna().str.count(" ") if "value" in table else pd.Series(dtype=float)
    if len(words) and words.median() >= FEWEST_WORDS - 1:
        columns.append("value")
    parts = []
    for name in columns:
        rows = table[table[name].notna()]
        parts.append(
            pd.DataFrame(
                {
                    "judge": as_text(rows["judge_id"]),
                    "kind": as_text(rows["judge_kind"]),
                    "item_id": as_text(rows["item_id"]) if "item_id" in rows else "",
                    "text": as_text(rows[name]),
                }
            )
        )
    if not parts:
        return _NO_TEXTS
    texts = pd.concat(parts, ignore_index=True).drop_duplicates()
    return texts.assign(plain=[folded(text).replace("\u2019", "'") for text in texts["text"]])


def suspicious_texts(texts: pd.DataFrame) -> pd.DataFrame:
    """Texts of people that are those of a model or have its marks: ``judge_id, item_id, what, text``."""
    human = texts[texts["kind"] == "human"]
    of_models = set(texts.loc[texts["kind"] == "model", "plain"])
    rows = []
    columns = (human[name].tolist() for name in ("judge", "item_id", "text", "plain"))
    for judge, item, text, form in zip(*columns, strict=True):
        if len(words_of(form)) >= FEWEST_WORDS and form in of_models:
            rows.append((judge, item, COPIED, excerpt(text)))
        elif _PHRASE.search(form):
            rows.append((judge, item, PHRASE, excerpt(text)))
        elif _MARKUP.search(text):
            rows.append((judge, item, MARKUP, excerpt(text)))
    enough = np.array([len(words_of(text)) >= LONG for text in human["plain"]], dtype=bool)
    long = human[enough].reset_index(drop=True)
    unique = long.drop_duplicates("plain").reset_index(drop=True)
    is_shared = long.groupby("plain")["judge"].transform("nunique").gt(1)
    alike = set(long.loc[is_shared, "plain"])
    for a, b in near_duplicates(unique["plain"].tolist()):
        if unique["judge"].iloc[a] != unique["judge"].iloc[b]:
            alike |= {unique["plain"].iloc[a], unique["plain"].iloc[b]}
    mine = long[long["plain"].isin(alike)]
    columns = (mine[name].tolist() for name in ("judge", "item_id", "text"))
    rows += [(judge, item, ALIKE, excerpt(text)) for judge, item, text in zip(*columns, strict=True)]
    return pd.DataFrame(rows, columns=["judge_id", "item_id", "what", "text"])


def _agreement(judgments: pd.DataFrame | None) -> Iterator[dict[str, object]]:
    """Test for each person and model whether the person deviates from others where the model does."""
    if judgments is None:
        return
    try:
        people, models = answers_of_people(judgments), answers_of_models(judgments)
    except NotApplicableError:
        return
    people = people.drop_duplicates(["judge", "item", "dimension"])
    models = models.drop_duplicates(["judge", "item", "dimension"])
    values = pd.Index(pd.unique(pd.concat([people["value"], models["value"]])))
    unit = pd.MultiIndex.from_frame(people[["item", "dimension"]])
    units = unit.unique()
    row, code = units.get_indexer(unit), values.get_indexer(people["value"])
    counts = np.zeros((len(units), len(values)))
    np.add.at(counts, (row, code), 1)
    of_others = counts[row]
    of_others[np.arange(len(row)), code] -= 1
    n_others = of_others.sum(axis=1)
    top = of_others.argmax(axis=1)
    most = of_others.max(axis=1)
    clear = (n_others >= 2) & (2 * most > n_others)  # most others give one answer
    difficulty = np.where(clear, n_others * 1000 + most, -1)  # how many others, and how many of them agree
    for model, mine in models.groupby("judge", sort=False):
        at = pd.Series(
            values.get_indexer(mine["value"]), index=pd.MultiIndex.from_frame(mine[["item", "dimension"]])
        )
        answer = at.reindex(unit).to_numpy(dtype=float)
        usable = clear & np.isfinite(answer)
        deviates = answer != top
        hit = np.where(deviates, code == answer, code != top)
        for person, places in people.groupby("judge", sort=False).indices.items():
            here = places[usable[places]]
            n = int(deviates[here].sum())
            if n < FEWEST_DEVIATING:
                continue
            x = int(hit[here][deviates[here]].sum())
            otherwise = hit[here][~deviates[here]]
            p = stratified_p(hit[here], deviates[here], difficulty[here])
            yield {
                "judge": str(person),
                "model": str(model),
                "n": n,
                "x": x,
                "otherwise": float(otherwise.mean()) if len(otherwise) else np.nan,
                "p": p,
                "estimate": x / n,
            }


def stratified_p(hit: np.ndarray, exposed: np.ndarray, stratum: np.ndarray) -> float:
    """Exact one-sided p of hits, shape (n,), being no more frequent where exposed, within strata."""
    # Hits are exchangeable within a stratum, so their number where exposed is a sum of independent
    # hypergeometric variables (the exact form of the Cochran-Mantel-Haenszel test).
    distribution, x = np.ones(1), 0
    for level in np.unique(stratum):
        here = stratum == level
        n, k, m = int(here.sum()), int(hit[here].sum()), int(exposed[here].sum())
        x += int((hit & exposed)[here].sum())
        if k > 0 and m > 0:
            distribution = np.convolve(distribution, _hypergeometric(n, k, m))
    return float(min(1.0, distribution[x:].sum()))


def _hypergeometric(n: int, k: int, m: int) -> np.ndarray:
    """Probabilities of 0, 1, ... of k hits among m of n, shape (min(k, m) + 1,)."""
    at = np.arange(min(k, m) + 1)
    possible = n - k >= m - at
    misses = np.where(possible, m - at, 0)
    log = _log_choose(k, at) + _log_choose(n - k, misses) - _log_choose(n, m)
    return np.where(possible, np.exp(log), 0.0)


def _log_choose(n: int, k: np.ndarray | int) -> np.ndarray:
    return gammaln(n + 1.0) - gammaln(np.add(k, 1.0)) - gammaln(n - np.asarray(k) + 1.0)
