"""Items that occur twice, and in several strata."""

from __future__ import annotations

import re
from collections import defaultdict

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import UNPERTURBED, as_text, plain

from ...frames.notes import Note
from ..answers.refusals_by_attribute import strata_of
from ..item_texts import conditions, rows_by_item
from ..judge_shares import MOST
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check

ITEMS_IN_STRATA = Question(
    code="CJ112",
    name="items_in_strata",
    title="Items that occur twice",
    text="Does every text occur once among the items, and in one stratum?",
    consequence="Items that occur twice count twice. In several strata they attenuate differences between "
    "strata, and with two gold labels one of these is always wrong.",
    remedy="Keep one of the copies, or mark copies with `condition` and `base_item_id`.",
    alarms="rule",
)
WORDS = 8  # shorter texts may be alike by chance, and count only where they are the same
NEAR = 0.9  # share of common runs of three words from which texts are nearly the same


@check(ITEMS_IN_STRATA)
def items_in_strata(
    items: pd.DataFrame, labels: pd.DataFrame | None = None, item_study: ItemStudy | None = None
) -> Check:
    """Find items with nearly the same text, perturbed copies aside; compare strata and gold labels."""
    if "text" not in items:
        raise NotApplicableError("The items contain no text.")
    originals = items[conditions(items).eq(UNPERTURBED).to_numpy(dtype=bool)]
    strata = strata_of(originals, item_study)
    originals = rows_by_item(originals)
    pairs = twins(
        [str(name) for name in originals.index], [str(text) for text in as_text(originals["text"]).fillna("")]
    )
    gold = (
        {}
        if labels is None
        else as_text(labels["label"])
        .groupby([as_text(labels["item_id"]), as_text(labels["label_set"])])
        .first()
        .to_dict()
    )
    sets = [] if labels is None else list(as_text(labels["label_set"]).unique())
    rows = []
    for a, b, share in pairs:
        differences = [name for name in strata if str(originals.loc[a, name]) != str(originals.loc[b, name])]
        opposed = [name for name in sets if gold.get((a, name)) != gold.get((b, name))]
        rows.append((a, b, share, ", ".join(differences), ", ".join(map(str, opposed))))
    matches = pd.DataFrame(rows, columns=["item_id", "other", "alike", "strata", "gold"])
    kinds = {
        "same text": int((matches["alike"] == 1).sum()),
        "nearly the same text": int((matches["alike"] < 1).sum()),
        "in different strata": int(matches["strata"].ne("").sum()),
        "with different gold labels": int(matches["gold"].ne("").sum()),
    }
    table = pd.DataFrame(
        [("items", "", label, n, len(originals), n / max(len(originals), 1)) for label, n in kinds.items()]
    )
    table.columns = pd.Index(["judge", "prompt", "label", "n", "of", "estimate"])
    if matches.empty:
        return ITEMS_IN_STRATA.answer(
            table, "pass", Note.of("Every text occurs once among {n:,} items.", n=len(originals))
        )
    first = matches.iloc[0]
    finding = Note.of(
        "{pairs} of items with the same or nearly the same text, {n_strata} in different strata and "
        "{n_gold} with different gold labels; for example {item_id} and {other}.",
        pairs=counted(len(matches), "pair"),
        n_strata=kinds["in different strata"],
        n_gold=kinds["with different gold labels"],
        item_id=first["item_id"],
        other=first["other"],
    )
    verdict: Verdict = "error" if kinds["with different gold labels"] else "warning"
    return ITEMS_IN_STRATA.answer(table, verdict, finding, rows=matches.head(MOST))


def twins(names: list[str], texts: list[str]) -> list[tuple[str, str, float]]:
    """Pairs of texts that are equal, or share nine tenths of their runs of three words, with that share."""
    words = [re.findall(r"\w+", plain(text)) for text in texts]
    same: dict[tuple[str, ...], int] = {}
    pairs: list[tuple[str, str, float]] = []
    runs: list[set[tuple[str, ...]]] = []
    where: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, tokens in enumerate(words):
        key = tuple(tokens)
        if tokens and key in same:
            pairs.append((names[same[key]], names[number], 1.0))
            runs.append(set())
            continue
        same[key] = number
        grams = {tuple(tokens[k : k + 3]) for k in range(len(tokens) - 2)} if len(tokens) >= WORDS else set()
        runs.append(grams)
        near: dict[int, int] = defaultdict(int)
        for gram in grams:
            for candidate in where[gram]:
                near[candidate] += 1
            where[gram].append(number)
        for candidate, common in near.items():
            share = common / len(grams | runs[candidate])
            if share >= NEAR:
                pairs.append((names[candidate], names[number], share))
    return pairs
