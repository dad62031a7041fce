"""Studies whose prompts ask for answers of their own, and are put to some of the items only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.studies import LABELS, RATINGS, change_study, collect, items, table, towns, write_study

from conjury.cli.commands.runs import parse
from conjury.inference.collecting.runs import RunFolder
from conjury.inference.errors import InputError
from conjury.inference.parsing.rules import full_rules
from conjury.inference.requests.building import Builder
from conjury.inference.study import load_any_study
from conjury.inference.tables import validate

KIND = {"form": "label", "id": "kind", "key": "verdict", "reasoning": "why", "labels": LABELS}
BY_LINE = {"form": "line_labels", "key": "lines", "lines": "poem", "labels": LABELS}
POEMS = ["One.\nTwo.\nThree.", "Uno.\nDos.", "Eins."]


def mixed(folder: Path) -> Path:
    """A study with a label, labels of lines, and a text that is asked for in English alone."""
    content = items(KIND, answer="auto", samples=2)
    levels = [{"id": name, "label": name.upper()} for name in ("en", "es", "de")]
    content["strata"] = [{"id": "language", "label": "Language", "levels": levels}]
    content["gold"] = {"file": "labels.csv"}
    content["prompts"] = [
        {"id": "kind", "label": "Kind", "user": "kind.j2", "aliases": ["1"]},
        {
            "id": "lines",
            "label": "Lines",
            "user": "kind.j2",
            "response": BY_LINE,
            "only": {"language": ["en", "es"]},
        },
        {"id": "reply", "label": "Reply", "response": {"form": "text"}, "only": {"language": ["en"]}},
    ]
    study = write_study(folder, content)
    (study / "kind.j2").write_text(
        "{{ strata.language }} {{ labels | map(attribute='id') | join }} {{ item }}"
    )
    poems = pd.DataFrame({"item_id": ["a", "b", "c"], "language": ["en", "es", "de"], "poem": POEMS})
    poems.to_csv(study / "items.csv", index=False)
    gold = "item_id,label_set,label\na,kind,fine\na,line_1,fine\na,line_2,hateful\nb,kind,offensive\n"
    (study / "labels.csv").write_text(gold)
    return study


def bodies(study: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Bodies of requests, of the first sample, by prompt and item."""
    known = load_any_study(study)
    content = RunFolder(study / "none").content(known)
    ask = known.judges[0].ask
    built = Builder(known, "judge", ask, known.prompts, str).requests(content.subjects())
    return {(one.prompt_id, one.subject_id): one.body for one in built if one.sample == 1}


def test_each_prompt_asks_in_its_own_form_and_is_put_to_its_items(tmp_path):
    asked = bodies(mixed(tmp_path / "poems"))
    assert sorted(asked) == [
        *(("kind", name) for name in "abc"),
        *(("lines", name) for name in "ab"),
        ("reply", "a"),
    ]
    kind = asked["kind", "b"]["response_format"]["json_schema"]["schema"]
    assert kind["required"] == ["verdict", "why"]
    assert kind["properties"]["verdict"]["enum"] == ["hateful", "offensive", "fine"]
    lines = asked["lines", "b"]["response_format"]["json_schema"]["schema"]
    assert lines["properties"]["lines"]["items"] == kind["properties"]["verdict"]
    assert "response_format" not in asked["reply", "a"]
    assert asked["kind", "b"]["messages"][0]["content"].startswith("es hatefuloffensivefine {")


def test_a_mixed_study_is_simulated_parsed_and_replayed(tmp_path, capsys):
    study, run = mixed(tmp_path / "poems"), tmp_path / "run"
    assert collect(study, run, backend="simulated") == 0
    assert "lines for 2, reply for 1" in capsys.readouterr().out
    judgments = validate(table(run, "judgments"), "judgments")
    counts = judgments.groupby(["prompt_id", "item_id"]).size().to_dict()
    assert counts == {
        **{("kind", name): 2 for name in "abc"},
        **{("lines", "a"): 6, ("lines", "b"): 4, ("reply", "a"): 2},
    }
    assert judgments["status"].eq("ok").all()
    assert set(judgments["dimension"]) == {"kind", "line_1", "line_2", "line_3", "text"}
    rules = judgments.groupby("prompt_id")["rule"].unique().map(list).to_dict()
    assert rules == {
        "kind": ["label/lenient@2"],
        "lines": ["line_labels/lenient@2"],
        "reply": ["text/whole@1"],
    }
    by_line = judgments[judgments["prompt_id"] == "lines"]
    assert (by_line["lines_shown"] == by_line["labels_given"]).all()
    assert judgments["finish_reason"].eq("stop").all()
    again = tmp_path / "again"
    assert collect(study, again, backend="replay", recorded=run / "responses.parquet") == 0
    kept = ["prompt_id", "item_id", "sample", "dimension", "value", "status"]
    pd.testing.assert_frame_equal(table(again, "judgments")[kept], judgments[kept])


def test_labels_beyond_the_lines_do_not_count_as_lines(tmp_path):
    study, run = mixed(tmp_path / "poems"), tmp_path / "run"
    assert collect(study, run, backend="simulated", prompts=["lines"]) == 0
    said = table(run, "responses")
    said["text"] = '{"lines": ["fine", "fine", "hateful", "fine"]}'
    said.to_parquet(tmp_path / "more.parquet")
    for rule, n in (("published", 16), ("lenient", 10)):
        again = tmp_path / rule
        given = {"recorded": tmp_path / "more.parquet", "prompts": ["lines"], "rule": rule}
        assert collect(study, again, backend="replay", **given) == 0
        judgments = table(again, "judgments")
        assert len(judgments) == n
        assert judgments.groupby("item_id")["lines_shown"].unique().map(list).to_dict() == {
            "a": [3],
            "b": [2],
        }
        assert judgments["labels_given"].eq(4).all()


def test_simulated_labels_lean_towards_gold_and_are_the_same_each_time(tmp_path):
    study = mixed(tmp_path / "poems")
    change_study(study, lambda content: content["judges"][0]["ask"].update(samples=60))
    runs = [tmp_path / name for name in ("one", "two")]
    for run in runs:
        assert collect(study, run, backend="simulated", prompts=["kind"]) == 0
    one, two = (table(run, "judgments")[["item_id", "sample", "value"]] for run in runs)
    pd.testing.assert_frame_equal(one, two)
    share = one[one["item_id"] == "a"]["value"].eq("fine").mean()
    assert 0.55 < share < 0.92  # 0.6 + 0.4 / 3 of 60
    free = one[one["item_id"] == "c"]["value"].eq("fine").mean()
    assert 0.1 < free < 0.6


def test_prompts_with_own_answers_are_answered_by_a_server(tmp_path, server):
    study = mixed(tmp_path / "poems")
    change_study(study, lambda content: content["judges"][0]["ask"].update(samples=1))
    assert collect(study, tmp_path / "run", base_url=server.url) == 0
    assert collect(study, tmp_path / "run", base_url=server.url) == 0
    judgments = table(tmp_path / "run", "judgments").set_index(["prompt_id", "item_id", "dimension"])
    assert len(table(tmp_path / "run", "responses")) == sum(server.counts()["answered"].values()) == 6
    assert judgments.loc[("kind", "a", "kind"), "status"] == "ok"
    assert judgments.loc[("lines", "a", "line_3"), "note"] == "no label for this line; 1 labels for 3 lines"


def test_a_rule_is_for_the_forms_that_have_it(tmp_path):
    study = load_any_study(mixed(tmp_path / "poems"))
    assert full_rules(study, "published") == ["label/published@1", "line_labels/published@1", "text/whole@1"]
    assert full_rules(study, "label/strict@2") == ["label/strict@2", "line_labels/lenient@2", "text/whole@1"]
    with pytest.raises(InputError, match="there is no rule 'token'"):
        full_rules(study, "token")


def test_a_changed_answer_of_a_prompt_is_another_run(tmp_path, server):
    study = mixed(tmp_path / "poems")
    assert collect(study, tmp_path / "run", base_url=server.url, prompts=["lines"]) == 0
    change_study(study, lambda content: content["prompts"][1]["response"].update(key="purposes"))
    with pytest.raises(InputError, match=r"there changed prompts\.lines\.response"):
        collect(study, tmp_path / "run", base_url=server.url, prompts=["lines"])
    with pytest.raises(InputError, match=r"there changed prompts\.lines"):
        parse(str(study), tmp_path / "run", "default", None)


def test_items_that_no_prompt_takes_are_refused(tmp_path):
    study = mixed(tmp_path / "poems")
    change_study(study, lambda content: content["prompts"].pop(0))
    with pytest.raises(
        InputError, match=r"row 3 of column 'language' contains 'de', which no prompt .* takes"
    ):
        collect(study, tmp_path / "run", dry_run=True)
    (study / "items.csv").write_text("item_id,poem\na,One.\n")
    with pytest.raises(InputError, match=r"items\.csv: column 'language' is missing"):
        collect(study, tmp_path / "run", dry_run=True)


def test_a_list_of_lines_is_shown_as_lines_and_counted(tmp_path):
    study = mixed(tmp_path / "poems")
    change_study(study, lambda content: content.update(items="items.parquet"))
    cells = [text.splitlines() for text in POEMS]
    poems = pd.DataFrame({"item_id": ["a", "b", "c"], "language": ["en", "es", "de"], "poem": cells})
    poems.to_parquet(study / "items.parquet")
    known = load_any_study(study)
    content = RunFolder(tmp_path / "run").content(known)
    assert [content.lines("poem", name) for name in "abc"] == [3, 2, 1]
    assert json.dumps("Uno.\nDos.") in bodies(study)["lines", "b"]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda c: c["prompts"][1]["response"].update(labels=[LABELS[0]] * 2),
            "label 'hateful' is given twice",
        ),
        (lambda c: c["prompts"][1]["response"].update(form="choice", labels=None), "prompts.1.response"),
        (lambda c: c["prompts"][1].update(response={"form": "choice"}), "a choice needs two posts at once"),
        (
            lambda c: c["prompts"][1].update(response={**KIND, "labels": LABELS[:2]}),
            "'kind' has other labels",
        ),
        (lambda c: c["response"].update(reasoning="verdict"), "'verdict' is the key of the label as well"),
        (
            lambda c: c["response"]["labels"][1].update(aliases=["Hate"]),
            "'hateful' and 'offensive' share the name",
        ),
        (lambda c: c["prompts"][1].update(only={"language": []}), "'only' lists no value of 'language'"),
        (lambda c: c["prompts"][1].update(only={"language": ["e"]}), "lines: 'e' is unknown here"),
        (lambda c: c["judges"][0]["ask"].update(answer="choice"), "answers of form 'line_labels' are longer"),
        (lambda c: c["judges"][0].update(aliases=["judge"]), "judge 'judge' is given twice"),
        (lambda c: c["gold"].update(file="gone.csv"), r"gold: there is no file gone\.csv"),
        (lambda c: c["gold"].update(covers={"bad": ["fine"]}), "gold: 'bad' is unknown here"),
        (lambda c: c["gold"].update(covers={"fine": ["bad"]}), "gold: 'bad' is unknown here"),
        (
            lambda c: c["gold"].update(levels=[{"id": "a", "label": "A"}] * 2),
            "gold: level 'a' is given twice",
        ),
        (lambda c: (c.update(response=RATINGS), c["prompts"].pop(1)), "gold: no prompt asks for labels"),
        (
            lambda c: c.update(missing={"refusd": "wrong"}),
            "missing: 'refusd' is unknown here; did you mean 'refused'",
        ),
        (lambda c: c.update(missing={"ok": "wrong"}), "missing: 'ok' is unknown here"),
        (lambda c: c.update(missing={"empty": "hatefull"}), "missing, empty: 'hatefull' is unknown here"),
    ],
)
def test_answers_and_gold_labels_that_contradict_the_study_are_refused(tmp_path, change, told):
    study = mixed(tmp_path / "poems")
    change_study(study, change)
    with pytest.raises(InputError, match=told) as caught:
        load_any_study(study)
    assert "study.yaml:" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_conjoint_has_no_items_to_pick(tmp_path):
    content = towns()
    content["prompts"][0]["only"] = {"size": ["large"]}
    with pytest.raises(InputError, match="plain: 'only' picks items"):
        load_any_study(write_study(tmp_path / "towns", content))


def test_gold_levels_of_their_own_are_named_and_covered(tmp_path):
    study = mixed(tmp_path / "poems")
    levels = [{"id": name, "label": name.title()} for name in ("implicit", "explicit", "safe")]
    covers = {"hateful": ["implicit", "explicit"], "fine": ["safe"]}
    change_study(study, lambda c: c["gold"].update(levels=levels, covers=covers))
    known = load_any_study(study)
    assert known.gold_labels("kind") == {"implicit": "Implicit", "explicit": "Explicit", "safe": "Safe"}
    assert list(known.label_sets) == ["kind", "line"]
