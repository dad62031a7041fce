"""Checks of designs of items: prompts, gold labels in them, repeated items, and assignment."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from conjury.analysis.checks.design.assignment import assignment, batches, imbalance_p
from conjury.analysis.checks.design.gold_in_prompt import gold_in_prompt, leak_p
from conjury.analysis.checks.design.items_in_strata import items_in_strata
from conjury.analysis.checks.design.prompt_differences import prompt_differences
from conjury.analysis.checks.texts import near_duplicates
from conjury.inference.simulation.labels import simulate_labels
from conjury.inference.study import load_any_study
from conjury.inference.tables.files import read_table

WORDS = [
    "ladder",
    "parrot",
    "train",
    "soup",
    "cousin",
    "window",
    "doctor",
    "budget",
    "violin",
    "island",
    "pepper",
    "engine",
    "carpet",
]


def sentences(n: int, seed: int = 1) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 14)) for _ in range(n)]


def pairs_of_items(n: int = 20) -> pd.DataFrame:
    names, texts = [f"j{k}" for k in range(n)], sentences(n)
    changed = [text.replace("e", "3", 3) for text in texts]
    return pd.DataFrame(
        {
            "item_id": [*names, *(f"{name}__typo" for name in names)],
            "base_item_id": names * 2,
            "condition": ["none"] * n + ["typo"] * n,
            "text": texts + changed,
        }
    )


def asked(items: pd.DataFrame, templates: dict[str, str], prompt: str = "p") -> pd.DataFrame:
    """Requests of one judge under the template of each item's condition."""
    which = items["condition"] if "condition" in items else pd.Series("none", index=items.index)
    user = [templates[c].replace("{item}", t) for c, t in zip(which, items["text"], strict=True)]
    return pd.DataFrame(
        {
            "judge_id": "m",
            "prompt_id": prompt,
            "item_id": items["item_id"],
            "sample": 1,
            "system": "You label jokes.",
            "user": user,
        }
    )


def test_prompts_that_differ_in_the_item_alone_pass() -> None:
    items = pairs_of_items()
    check = prompt_differences(items, asked(items, dict.fromkeys(("none", "typo"), "Joke:\n{item}\nType?")))
    assert check.verdict == "pass"
    assert (
        check.finding
        == "20 requests of perturbed items differ from those of their originals in the item alone."
    )


def test_prompts_of_conditions_that_differ_in_more_are_an_error_with_the_lines() -> None:
    items = pairs_of_items()
    templates = {"none": "A joke in Spanish:\n{item}\nType?", "typo": "A joke:\n{item}\nType?"}
    check = prompt_differences(items, asked(items, templates))
    assert check.verdict == "error"
    assert check.finding == (
        "20 of 20 requests of m under condition typo differ from those of the original in more than the item "
        "(prompt p): \u201cA joke in Spanish:\u201d in the original alone, \u201cA joke:\u201d in the "
        "perturbed alone."
    )
    assert check.table.iloc[0]["estimate"] == 1


def test_a_difference_next_to_the_item_is_found() -> None:
    items = pairs_of_items()
    templates = {"none": "Joke: {item} Type?", "typo": "Chiste: {item} Type?"}
    assert prompt_differences(items, asked(items, templates)).verdict == "error"


def test_items_that_prompts_write_in_another_form_are_no_difference_of_prompts() -> None:
    items = pairs_of_items()
    written = items.assign(text=items["text"].str.upper())
    check = prompt_differences(items, asked(written, dict.fromkeys(("none", "typo"), "Joke:\n{item}\nType?")))
    assert check.verdict == "pass"


def test_conditions_under_prompts_of_their_own_are_an_error() -> None:
    items = pairs_of_items(4)
    requests = asked(items, dict.fromkeys(("none", "typo"), "{item}"))
    apart = requests.assign(prompt_id=np.where(items["condition"] == "none", "a", "b"))
    check = prompt_differences(items, None, apart.assign(judge_kind="model"))
    assert check.verdict == "error"
    assert "Items under condition typo were asked under b only, and originals under a only." in check.finding
    assert prompt_differences(items, None, requests).verdict == "pass"
    assert prompt_differences(items[items["condition"] == "none"], requests).verdict == "not_applicable"


LABELS = ["wordplay", "dark", "dry", "absurd"]
LIST = "Types: wordplay, dark, dry, absurd.\n{item}\nWhich?"


def labelled(n: int = 40) -> tuple[pd.DataFrame, pd.DataFrame]:
    items = pd.DataFrame({"item_id": [f"j{k}" for k in range(n)], "text": sentences(n)})
    gold = np.random.default_rng(5).choice(LABELS, n)
    return items, pd.DataFrame({"item_id": items["item_id"], "label_set": "type", "label": gold})


def test_a_list_of_labels_is_no_gold_label_in_a_prompt() -> None:
    items, labels = labelled()
    check = gold_in_prompt(asked(items, {"none": LIST}), labels, items, 1, 0.05)
    assert check.verdict == "pass"
    assert check.p == 1


def test_gold_labels_that_prompts_name_are_an_error() -> None:
    items, labels = labelled()
    requests = asked(items, {"none": LIST})
    requests["user"] += " (file " + labels["label"] + "/1)"
    check = gold_in_prompt(requests, labels, items, 1, 0.05)
    assert check.verdict == "error"
    assert check.p is not None
    assert check.p < 0.01
    assert "names the gold label of type outside the item in 40 of 40 items more often" in check.finding


def test_labels_that_are_marked_in_the_item_are_an_error_and_words_of_it_are_not() -> None:
    items, labels = labelled()
    named = items.assign(text=items["text"] + " " + labels["label"])
    assert gold_in_prompt(asked(named, {"none": LIST}), labels, named, 1, 0.05).verdict == "pass"
    marked = items.assign(text=items["text"] + " label: " + labels["label"])
    check = gold_in_prompt(asked(marked, {"none": LIST}), labels, marked, 1, 0.05)
    assert check.verdict == "error"
    assert "marked in the item" in check.finding


def test_examples_with_other_labels_are_no_leak() -> None:
    items, labels = labelled()
    requests = asked(items, {"none": LIST})
    shown = np.random.default_rng(8).choice(LABELS, len(items))
    requests["user"] = [f"{text} Example: {one}" for text, one in zip(requests["user"], shown, strict=True)]
    assert gold_in_prompt(requests, labels, items, 1, 0.05).verdict == "pass"


def test_test_items_among_the_examples_are_an_error() -> None:
    items, labels = labelled()
    template = f"For example: {items['text'][3]}\n\n" + LIST
    check = gold_in_prompt(asked(items, {"none": template}), labels, items, 1, 0.05)
    assert check.verdict == "error"
    assert check.finding.startswith(
        "1 test item is among the examples of prompts of other items, such as j3 under p."
    )
    assert check.rows is not None
    assert check.rows[["item_id", "in_prompts_of"]].to_numpy().tolist() == [["j3", 39]]


def test_gold_labels_of_other_items_do_not_apply() -> None:
    items, labels = labelled()
    other = labels.assign(item_id="x" + labels["item_id"])
    assert gold_in_prompt(asked(items, {"none": LIST}), other, items, 1, 0.05).verdict == "not_applicable"


def test_the_permutation_test_of_leaks_is_the_share_of_all_exchanges() -> None:
    excess = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
    gold = np.array([0, 1, 0, 1, 2, 2])
    x, expected, p = leak_p(excess, gold, np.zeros(6, dtype=int), np.random.default_rng(1))
    counts = [int(excess[np.arange(6), list(mixed)].sum()) for mixed in permutations(gold)]
    assert x == 3
    assert expected == pytest.approx(np.mean(counts))
    assert p == pytest.approx(np.mean([count >= x for count in counts]), abs=0.05)


def test_repeated_items_are_found_with_their_strata_and_labels() -> None:
    texts = sentences(12)
    items = pd.DataFrame(
        {"item_id": [f"j{k:02d}" for k in range(12)], "text": texts, "language": ["en", "es"] * 6}
    )
    assert items_in_strata(items).verdict == "pass"
    twice = items.assign(text=[texts[2].upper() + " ", *texts[1:]])  # j00 and j02, both English
    check = items_in_strata(twice)
    assert check.verdict == "warning"
    assert check.rows is not None
    assert check.rows[["like", "item_id", "what"]].to_numpy().tolist() == [["j00", "j02", "same text"]]
    across = items_in_strata(items.assign(text=[texts[1], *texts[1:]]))
    assert across.verdict == "error"
    assert "of these 1 are in another stratum (language)" in across.finding
    labels = pd.DataFrame({"item_id": items["item_id"], "label_set": "t", "label": ["a"] + ["b"] * 11})
    assert items_in_strata(twice, labels=labels).verdict == "error"
    assert items_in_strata(twice, labels=labels.assign(label="a")).verdict == "warning"


def test_copies_of_one_original_and_templates_are_no_repetitions() -> None:
    assert items_in_strata(pairs_of_items()).verdict == "pass"
    texts = [
        f"A train left the station at noon and nobody on it knew that number {k} was my cousin who sells "
        f"ladders to parrots and buys soup from violin players"
        for k in range(9)
    ]
    check = items_in_strata(pd.DataFrame({"item_id": [f"j{k}" for k in range(9)], "text": texts}))
    assert check.verdict == "pass"
    assert "written from a template" in check.finding


@pytest.mark.parametrize("name", ["oogiri", "multiturn", "harm_or_humor"])
def test_no_item_of_a_shipped_study_is_there_twice(name: str) -> None:
    study = load_any_study(name)
    items = read_table(study.folder / study.items, "items")
    assert items_in_strata(items, study).verdict == "pass"


def test_near_duplicates_are_those_of_all_comparisons() -> None:
    rng = np.random.default_rng(3)
    texts = sentences(60, seed=7)
    for k in range(0, 60, 6):
        words = texts[k].split()
        words[int(rng.integers(14))] = "zebra"
        texts[k + 1] = " ".join(words)
    texts[5], texts[11] = "short text", "short text"
    shingles = [{tuple(w[i : i + 3]) for i in range(len(w) - 2)} for w in map(str.split, texts)]

    def similar(a: int, b: int) -> bool:
        one, other = shingles[a], shingles[b]
        return (
            texts[a] != texts[b] and len(one & other) >= 0.6 * len(one | other) and len(texts[a].split()) > 7
        )

    expected = [[a, b] for a in range(60) for b in range(a + 1, 60) if similar(a, b)]
    assert len(expected) > 3
    assert near_duplicates(texts, 0.6).tolist() == expected
    assert near_duplicates([]).shape == (0, 2)


def rated(assigned: list[list[int]], kind: str = "human") -> pd.DataFrame:
    rows = [(f"r{r}", kind, f"j{k}", 1, "d", 1, "ok") for r, mine in enumerate(assigned) for k in mine]
    columns = ["judge_id", "judge_kind", "item_id", "sample", "dimension", "value", "status"]
    return pd.DataFrame(rows, columns=columns)


def strata_items(n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"item_id": [f"j{k}" for k in range(n)], "topic": ["a" if k < n // 2 else "b" for k in range(n)]}
    )


def test_items_that_were_assigned_at_random_pass() -> None:
    rng = np.random.default_rng(2)
    check = assignment(
        rated([rng.choice(60, 20, replace=False).tolist() for _ in range(6)]), strata_items(60), 1, 0.05
    )
    assert check.verdict == "pass"


def test_people_with_items_of_one_stratum_are_a_warning() -> None:
    rng = np.random.default_rng(2)
    halves = [rng.choice(30, 20, replace=False) + (30 if r % 2 else 0) for r in range(12)]
    check = assignment(rated([half.tolist() for half in halves]), strata_items(60), 1, 0.05)
    assert check.verdict == "warning"
    assert check.p is not None
    assert check.p < 0.01
    assert "among a person's items ranges from 0% to 100% (topic, 12 people)" in check.finding


def test_items_that_all_people_rated_and_batches_of_few_are_no_evidence() -> None:
    items = strata_items(60)
    assert assignment(rated([list(range(60))] * 5), items, 1, 0.05).p == 1
    two = assignment(rated([list(range(30)), list(range(30, 60))]), items, 1, 0.05)
    assert two.verdict == "pass"  # two batches, one of each stratum, can only be exchanged for each other
    assert assignment(rated([[0, 1]]), items, 1, 0.05).verdict == "not_applicable"


def test_tasks_that_a_model_lost_in_one_stratum_are_a_warning_and_whole_strata_are_not() -> None:
    items = strata_items(60)
    lost = [k for k in range(60) if not 30 <= k < 45]
    check = assignment(rated([list(range(60)), lost], "model"), items, 1, 0.05)
    assert check.verdict == "warning"
    assert "r1 lost 50.0% of the items of b" in check.finding
    even = [k for k in range(60) if k % 4]
    assert assignment(rated([list(range(60)), even], "model"), items, 1, 0.05).verdict == "pass"
    half = assignment(rated([list(range(60)), list(range(30))], "model"), items, 1, 0.05)
    assert half.verdict == "not_applicable"


def test_the_permutation_test_of_assignments_is_the_share_of_all_exchanges() -> None:
    incidence = csr_array(np.array([[1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1.0]]))
    level = np.array([0, 0, 0, 1, 1, 0])
    statistic, p = imbalance_p(incidence, level, np.arange(6), np.random.default_rng(1))

    def pearson(mixed: np.ndarray) -> float:
        counts = incidence @ np.eye(2)[mixed]
        expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
        return float(((counts - expected) ** 2 / expected).sum())

    exact = np.mean([pearson(np.array(mixed)) >= statistic - 1e-9 for mixed in permutations(level)])
    assert statistic == pytest.approx(pearson(level))
    assert p == pytest.approx(exact, abs=0.1)


def test_batches_are_items_of_the_same_judges_or_of_one_original() -> None:
    judge, item = np.array([0, 1, 0, 1, 0, 2]), np.array([0, 0, 1, 1, 2, 3])
    found = batches(judge, item, np.array([0, 1, 2, 2]))
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert found[0] != found[2]


def test_simulated_labels_are_assigned_alike() -> None:
    study = load_any_study("harm_or_humor")
    made = simulate_labels(study, 1, items=40, people=5)
    assert assignment(made.judgments, made.items, 1, 0.05, study).verdict == "pass"
