"""Tables of perturbed items: spans by gold labels, no-ops, labels carried over, the page of pairs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from golden import SHARED

from conjury.inference.errors import InputError
from conjury.inference.perturb import KINDS, Change, perturb_items, sheet, undone
from conjury.inference.tables import validate

JOKES = {
    "j1": ["My mom bought a car.", "Nobody laughed.", "The kids yelled at the dog."],
    "j2": ["Hello.", "Hmm.", "Brr."],
    "j3": ["One line only, with a dad in it."],
}
PURPOSES = {"j1": ["setup", "timing", "punchline"], "j2": ["setup", "timing", "punchline"], "j3": ["setup"]}


def items(**columns: Any) -> pd.DataFrame:
    made = pd.DataFrame(
        {"item_id": list(JOKES), "language": "en", "text": ["\n".join(lines) for lines in JOKES.values()]}
    )
    return made.assign(**columns)


def labels() -> pd.DataFrame:
    rows = [
        (item, f"line_{number}", purpose)
        for item, purposes in PURPOSES.items()
        for number, purpose in enumerate(purposes, start=1)
    ]
    rows += [(item, "joke_type", "witty") for item in JOKES]
    return pd.DataFrame(rows, columns=["item_id", "label_set", "label"])


def test_only_lines_with_the_label_change() -> None:
    made = perturb_items(items(), ["orthographic"], labels=labels(), only=["punchline"])
    for _, row in made.items[made.items["condition"] == "orthographic"].iterrows():
        assert row["text"].split("\n")[:2] == JOKES[row["base_item_id"]][:2]
        assert row["text"].split("\n")[2] != JOKES[row["base_item_id"]][2]
        assert {change["line"] for change in json.loads(row["changes"])} == {3}
    reasons = made.refused.set_index("base_item_id")["reason"].to_dict()
    assert reasons == {"j3": "no line with the label"}


def test_pairs_without_a_change_are_left_out_and_counted() -> None:
    wanted = {"labels": labels(), "only": ["punchline"]}
    made = perturb_items(items(), ["preserving"], **wanted)
    assert "j2__preserving" not in set(made.items["item_id"])
    assert dict(zip(made.refused["base_item_id"], made.refused["reason"], strict=True)) == {
        "j2": "no-op",
        "j3": "no line with the label",
    }
    assert made.summary[["n_items", "n_pairs", "n_noops", "n_other"]].to_numpy().tolist() == [[3, 1, 1, 1]]
    kept = perturb_items(items(), ["preserving"], **wanted, allow_noops=True)
    noop = kept.items.set_index("item_id").loc["j2__preserving"]
    assert (noop["n_changes"], noop["rate"], bool(noop["rate_met"])) == (0, 0.0, False)
    assert noop["text"] == "\n".join(JOKES["j2"])


def test_pairs_that_miss_the_rate_are_left_out_and_counted_unless_allowed() -> None:
    text = [" ".join(["Hmm"] * 19 + ["mom"]), "My mom.", "Hmm mom"]
    asked = {"items": items(text=text), "kinds": ["dialect"], "rates": {"dialect": 0.5}}
    made = perturb_items(**asked)
    assert "j1__dialect" not in set(made.items["item_id"])
    assert made.refused.to_numpy().tolist() == [["j1", "dialect", "rate not met", 1, 20]]
    assert made.summary[["n_pairs", "n_rate_met", "n_unmet"]].to_numpy().tolist() == [[2, 2, 1]]
    kept = perturb_items(**asked, allow_unmet=True)
    assert kept.items["rate"].tolist()[1] == pytest.approx(1 / 20)
    assert not kept.items["rate_met"].iloc[1]
    assert kept.summary[["n_pairs", "n_rate_met", "n_unmet"]].to_numpy().tolist() == [[3, 2, 0]]


def test_few_pairs_are_noted() -> None:
    many = pd.DataFrame({"item_id": [f"j{n}" for n in range(10)], "language": "en", "text": "My mom."})
    assert perturb_items(many, ["dialect"]).notes == []
    [note] = perturb_items(many.head(9), ["dialect"]).notes
    assert note.startswith("dialect, en: 9 pairs are too few")


def test_originals_stand_first_and_keep_their_ids() -> None:
    made = perturb_items(items(note=["x", "y", "z"]), ["drift", "orthographic"])
    frame = made.items
    assert frame["item_id"].tolist()[:3] == ["j1", "j1__orthographic", "j1__drift"]
    assert (frame["item_id"] == frame["base_item_id"]).tolist() == (frame["condition"] == "none").tolist()
    assert frame.loc[frame["base_item_id"] == "j1", "note"].unique().tolist() == ["x"]
    alone = perturb_items(items(), ["drift"], originals=False).items
    assert set(alone["condition"]) == {"drift"}


def test_labels_are_carried_over_to_copies() -> None:
    made = perturb_items(items(), ["orthographic"], labels=labels())
    assert made.labels is not None
    validate(made.labels, "labels")
    by_item = made.labels.groupby("item_id")[["label_set", "label"]].apply(
        lambda rows: rows.to_numpy().tolist()
    )
    assert by_item["j1__orthographic"] == by_item["j1"]
    assert set(by_item.index) == set(made.items["item_id"])


def test_lines_and_text_change_together() -> None:
    lines = [np.array(value, dtype=object) for value in JOKES.values()]
    made = perturb_items(items(lines=lines), ["drift"]).items
    assert all("\n".join(row["lines"]) == row["text"] for _, row in made.iterrows())
    without_text = perturb_items(items(lines=lines).drop(columns="text"), ["drift"]).items
    assert ["\n".join(lines) for lines in without_text["lines"]] == made["text"].tolist()


def test_a_stated_span_is_characters_of_the_text() -> None:
    spans = ["[[3, 6]]", None, "[]"]
    made = perturb_items(items(where=spans), ["dialect"], span_column="where")
    assert (
        made.items["text"].tolist()[1] == "My mum bought a car.\nNobody laughed.\nThe kids yelled at the dog."
    )
    assert made.refused["reason"].tolist() == ["no words in the span"] * 2


def test_items_whose_labels_and_lines_differ_in_number_are_left_out() -> None:
    fewer = labels().drop(index=2)
    wanted = {"labels": fewer, "only": ["timing"], "kinds": ["orthographic"]}
    made = perturb_items(items(), **wanted)
    assert made.refused.set_index("base_item_id")["reason"]["j1"] == "labels and lines differ in number"
    kept = perturb_items(items(), **wanted, allow_misaligned=True)
    assert "j1__orthographic" in set(kept.items["item_id"])


def test_items_without_text_are_refused_pairs() -> None:
    made = perturb_items(items(text=["My dad.", None, " "]), ["drift"])
    assert made.refused["reason"].tolist() == ["no text", "no text"]
    assert made.items["item_id"].tolist() == ["j1", "j1__drift", "j2", "j3"]


@pytest.mark.parametrize(
    ("columns", "options", "problem"),
    [
        ({}, {"kinds": ["typos"]}, "there is no perturbation 'typos'"),
        ({}, {"kinds": []}, "no kind of perturbation"),
        ({}, {"rates": {"drift": 0}}, "rate 0 of drift"),
        ({}, {"rates": {"drift": float("nan")}}, "rate nan of drift"),
        ({}, {"rates": {"drit": 0.1}}, "did you mean 'drift'"),
        ({}, {"only": ["punchline"]}, "give --labels"),
        ({}, {"only": ["punch"], "labels": labels()}, "did you mean 'punchline'"),
        ({}, {"only": ["punchline"], "span_column": "text"}, "use one of them"),
        ({}, {"only": ["witty"], "labels": labels().tail(3)}, "no label_set is line_1"),
        ({}, {"span_column": "were"}, "'were' is missing"),
        ({"where": "3-6"}, {"span_column": "where"}, r"item 'j1' contains '3-6'; write \[\[start, end\]"),
        ({"where": "[[0, 999]]"}, {"span_column": "where"}, "no part of its"),
        ({}, {"language_column": "lang"}, "'lang' is missing"),
        ({"language": ["en", "fr", "en"]}, {}, "row 2 of column 'language' contains 'fr'"),
        ({"language": ["en", None, "en"]}, {}, "row 2 of column 'language'"),
        ({}, {"dialects": {"en": "au"}}, "no variety 'au' of en; use us, uk"),
        ({}, {"dialects": {"fr": "ca"}}, "language 'fr'"),
        ({"condition": "none"}, {}, "not perturbed copies"),
        ({"text": "Hmm."}, {"kinds": ["dialect"]}, "dialect: no item could be changed"),
        ({"lines": [["a"], ["b"], ["c"]]}, {}, "row 1 of column 'lines' .* is not the text"),
        ({"lines": "a"}, {}, "is no list of lines"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(columns: dict, options: dict, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        perturb_items(items(**columns), **options)


def test_languages_may_be_written_in_several_ways() -> None:
    made = perturb_items(items(language=["en-GB", "English", "EN_us"]), ["drift"])
    assert made.summary["language"].tolist() == ["en"]


def test_changes_of_the_table_are_json_that_leads_back_to_the_original() -> None:
    made = perturb_items(items(), ["orthographic"], originals=False)
    for _, row in made.items.iterrows():
        changes = [Change(**record) for record in json.loads(row["changes"])]
        assert undone(row["text"], changes) == "\n".join(JOKES[row["base_item_id"]])


def test_the_sheet_escapes_what_it_shows_and_marks_what_differs() -> None:
    text = "<script>alert(1)</script> my mom & dad"
    made = perturb_items(items(text=text), ["dialect"], rates={"dialect": 0.2})
    page = sheet(made)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; my <del>mom</del> <ins>mum</ins> &amp; dad" in page
    assert "3 of 3 pairs are shown" in page
    assert sheet(made, per_group=1).count("<article>") == 1


@pytest.mark.shared
@pytest.mark.slow
def test_only_punchlines_of_real_jokes_change() -> None:
    folder = SHARED / "data" / "multiturn"
    jokes = pd.read_parquet(folder / "items.parquet")[["item_id", "language", "text", "lines"]]
    lines = pd.read_parquet(folder / "lines.parquet").dropna(subset=["gold_purpose"])
    gold = pd.DataFrame({"item_id": lines["item_id"], "label": lines["gold_purpose"]})
    gold["label_set"] = "line_" + lines["line_no"].astype(str)
    made = perturb_items(jokes, KINDS, labels=gold, only=["punchline"], originals=False).items
    is_punchline = lines["gold_purpose"] == "punchline"
    punchlines = set(zip(lines.loc[is_punchline, "item_id"], lines.loc[is_punchline, "line_no"], strict=True))
    before = dict(zip(jokes["item_id"], jokes["lines"], strict=True))
    assert made["condition"].value_counts()["orthographic"] > 200
    assert made.loc[made["condition"] == "orthographic", "rate_met"].all()
    for item, after in zip(made["base_item_id"], made["lines"], strict=True):
        pairs = enumerate(zip(before[item], after, strict=True), start=1)
        differ = {number for number, (old, new) in pairs if old != new}
        assert differ
        assert all((item, number) in punchlines for number in differ)
