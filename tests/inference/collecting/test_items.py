"""Studies of items in every response form, from the study file to judgments, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cases import cases
from fakes.studies import (
    LABELS,
    RATINGS,
    TEXTS,
    change_study,
    collect,
    items,
    requests_of,
    table,
    write_study,
)

from conjury.cli.commands.collecting.runs import parse
from conjury.inference.collecting.past_runs import run_folder
from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.errors import InputError
from conjury.inference.parsing.answer_rules import full_rules
from conjury.inference.study import load_any_study, load_study
from conjury.inference.study.checks_items import OWN_SETTINGS
from conjury.inference.tables import validate

LABEL = {"form": "label", "labels": LABELS}
LINES = {"form": "line_labels", "labels": LABELS}
KIND = {"form": "label", "id": "kind", "key": "verdict", "reasoning": "why", "labels": LABELS}
POEMS = pd.DataFrame(
    {
        "item_id": list("abc"),
        "language": ["en", "es", "de"],
        "poem": ["One.\nTwo.\nThree.", "Uno.\nDos.", "Eins."],
    }
)
ASK = ("judges", 0, "ask")
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "study-file.md").read_text(encoding="utf-8")


def at(*path: Any, **values: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of fields at a path of a study's content."""

    def change(content: Any) -> None:
        for step in path:
            content = content[step]
        content.update(values)

    return change


@pytest.fixture
def mixed(tmp_path):
    """A study with a label, labels of lines, and a text that is asked for in English alone."""
    content = items(KIND, answer="auto", samples=2) | dict(cases(__file__, "poems"))
    study = write_study(tmp_path / "poems", content)
    (study / "kind.j2").write_text(
        "{{ strata.language }} {{ labels | map(attribute='id') | join }} {{ item }}"
    )
    POEMS.to_csv(study / "items.csv", index=False)
    gold = "item_id,label_set,label\na,kind,fine\na,line_1,fine\na,line_2,hateful\nb,kind,offensive\n"
    (study / "labels.csv").write_text(gold)
    return study


def bodies(study: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Bodies of requests, of the first sample, by prompt and item."""
    return {(one.prompt_id, one.subject_id): one.body for one in requests_of(study) if one.sample == 1}


def test_each_prompt_asks_in_its_own_form_and_is_put_to_its_items(mixed):
    asked = bodies(mixed)
    assert sorted(asked) == [
        *(("kind", name) for name in "abc"),
        ("lines", "a"),
        ("lines", "b"),
        ("reply", "a"),
    ]
    kind = asked["kind", "b"]["response_format"]["json_schema"]["schema"]
    assert kind["required"] == ["verdict", "why"]
    assert kind["properties"]["verdict"]["enum"] == ["hateful", "offensive", "fine"]
    lines = asked["lines", "b"]["response_format"]["json_schema"]["schema"]
    assert lines["properties"]["lines"]["items"] == kind["properties"]["verdict"]
    assert "response_format" not in asked["reply", "a"]
    assert asked["kind", "b"]["messages"][0]["content"].startswith("es hatefuloffensivefine {")
    change_study(mixed, at(items="items.parquet"))
    POEMS.assign(poem=POEMS["poem"].str.split("\n")).to_parquet(mixed / "items.parquet")
    content = RunFolder(mixed / "none").content(load_any_study(mixed))
    assert [content.lines("poem", name) for name in "abc"] == [3, 2, 1]
    assert json.dumps("Uno.\nDos.") in bodies(mixed)["lines", "b"]["messages"][0]["content"]


@pytest.mark.long
def test_a_mixed_study_is_simulated_parsed_and_replayed(mixed, run, tmp_path, capsys):
    assert collect(mixed, run, backend="simulated") == 0
    assert "lines for 2, reply for 1" in capsys.readouterr().out
    judgments = validate(table(run, "judgments"), "judgments")
    counts = judgments.groupby(["prompt_id", "item_id"]).size().to_dict()
    of_lines = {("lines", "a"): 6, ("lines", "b"): 4, ("reply", "a"): 2}
    assert counts == {("kind", "a"): 2, ("kind", "b"): 2, ("kind", "c"): 2, **of_lines}
    assert judgments["status"].eq("ok").all()
    assert set(judgments["dimension"]) == {"kind", "line_1", "line_2", "line_3", "text"}
    rules = judgments.groupby("prompt_id")["rule"].unique().map(list).to_dict()
    assert rules == {
        "kind": ["label/lenient@3"],
        "lines": ["line_labels/lenient@2"],
        "reply": ["text/whole@1"],
    }
    by_line = judgments[judgments["prompt_id"] == "lines"]
    assert (by_line["lines_shown"] == by_line["labels_given"]).all()
    assert judgments["finish_reason"].eq("stop").all()
    assert collect(mixed, tmp_path / "again", backend="replay", recorded=run / "responses.parquet") == 0
    kept = ["prompt_id", "item_id", "sample", "dimension", "value", "status"]
    pd.testing.assert_frame_equal(table(tmp_path / "again", "judgments")[kept], judgments[kept])
    recorded = table(run, "responses").query("prompt_id == 'lines'")
    recorded.assign(text='{"lines": ["fine", "fine", "hateful", "fine"]}').to_parquet(
        tmp_path / "more.parquet"
    )
    for rule, n in (("published", 16), ("lenient", 10)):  # labels beyond the lines do not count as lines
        given = {"recorded": tmp_path / "more.parquet", "prompts": ["lines"], "rule": rule}
        assert collect(mixed, tmp_path / rule, backend="replay", **given) == 0
        judgments = table(tmp_path / rule, "judgments")
        assert len(judgments) == n
        shown = judgments.groupby("item_id")["lines_shown"].unique().map(list).to_dict()
        assert shown == {"a": [3], "b": [2]}
        assert judgments["labels_given"].eq(4).all()


@pytest.mark.long
def test_prompts_with_own_answers_are_answered_by_a_server_and_belong_to_the_run(mixed, run, server):
    change_study(mixed, at(*ASK, samples=1))
    assert collect(mixed, run, base_url=server.url) == 0
    assert collect(mixed, run, base_url=server.url) == 0
    judgments = table(run, "judgments").set_index(["prompt_id", "item_id", "dimension"])
    assert len(table(run, "responses")) == sum(server.counts()["answered"].values()) == 6
    assert judgments.loc[("kind", "a", "kind"), "status"] == "ok"
    assert judgments.loc[("lines", "a", "line_3"), "note"] == "no label for this line; 1 labels for 3 lines"
    change_study(mixed, at("prompts", 1, "response", key="purposes"))
    with pytest.raises(InputError, match=r"have changed since it began \(prompts\.lines\.response"):
        collect(mixed, run, base_url=server.url, prompts=["lines"])
    with pytest.raises(InputError, match=r"have changed since it began \(prompts\.lines"):
        parse(str(mixed), run, "default", None)


def test_rules_and_gold_levels_are_those_of_the_forms_and_of_the_study(mixed):
    study = load_any_study(mixed)
    assert full_rules(study, "published") == ["label/published@1", "line_labels/published@1", "text/whole@1"]
    assert full_rules(study, "label/strict@2") == ["label/strict@2", "line_labels/lenient@2", "text/whole@1"]
    with pytest.raises(InputError, match="there is no rule 'token'"):
        full_rules(study, "token")
    levels = [{"id": name, "label": name.title()} for name in ("implicit", "explicit", "safe")]
    covers = {"hateful": ["implicit", "explicit"], "fine": ["safe"]}
    change_study(mixed, at("gold", levels=levels, covers=covers))
    known = load_any_study(mixed)
    assert known.gold_labels("kind") == {"implicit": "Implicit", "explicit": "Explicit", "safe": "Safe"}
    assert list(known.label_sets) == ["kind", "line"]


def test_items_that_no_prompt_takes_are_refused(mixed, run):
    change_study(mixed, lambda content: content["prompts"].pop(0))
    with pytest.raises(
        InputError, match=r"row 3 of column 'language' contains 'de', which no prompt .* takes"
    ):
        collect(mixed, run, dry_run=True)
    (mixed / "items.csv").write_text("item_id,poem\na,One.\n")
    with pytest.raises(InputError, match=r"items\.csv: column 'language' is missing"):
        collect(mixed, run, dry_run=True)


CHANGES = {
    "the lines alone, rated": lambda content: (content.update(response=RATINGS), content["prompts"].pop(1)),
    "a judge twice": lambda content: content["judges"].append(content["judges"][0]),
    "a set": at(*ASK, settings={"stop": {1, 2}}),
}


@pytest.mark.parametrize(("path", "values", "told"), cases(__file__, "contradictions"))
def test_studies_that_contradict_themselves_are_refused(mixed, path, values, told):
    change_study(mixed, CHANGES[path] if isinstance(path, str) else at(*path, **values))
    with pytest.raises(InputError, match=rf"study\.yaml:.*{told}") as caught:
        load_any_study(mixed)
    assert "\n" not in str(caught.value)


OWN = [({"settings": {name: 1}}, f"'{name}' is no setting of a judge; ") for name in OWN_SETTINGS]


def test_settings_of_some_servers_are_not_taken_for_misspelt_ones(tmp_path):
    settings = {"reasoning_format": "none", "repetition_penalty_range": 512, "stop_tokens": ["x"]}
    study = load_any_study(write_study(tmp_path / "posts", items(LABEL, settings=settings)))
    assert next(judge.ask for judge in study.judges if judge.ask).settings == settings


@pytest.mark.parametrize(("ask", "words"), [*OWN, *cases(__file__, "bad_values")])
def test_a_bad_value_is_refused_at_its_line_with_what_belongs_there(tmp_path, ask, words):
    folder = write_study(tmp_path / "posts", items(LABEL, **ask))
    with pytest.raises(InputError) as caught:
        load_any_study(folder)
    field, value = list(ask.get("settings", ask).items())[-1]
    lines = (folder / "study.yaml").read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if f" {field}: {value}" in line)
    message = str(caught.value)
    assert message.startswith(f"{folder / 'study.yaml'}:{number}: "), message
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([at("prompts", 0, only={"size": ["large"]})], "plain: 'only' picks items"),
        ([at(response=LABEL)], "pairs are judged by a choice, but the file says 'label'"),
        (
            [lambda c: (c.pop("title"), c.pop("question")), lambda c: c["design"].pop("tasks")],
            r"title, question, design\.tasks are missing; add them",
        ),
        ([at("prompts", 1, cues="voice")], r"study\.yaml:\d+: prompts\.1\.cues: use one of 'both'"),
    ],
)
def test_conjoints_that_contradict_themselves_are_refused(study, changes, told):
    for change in changes:
        change_study(study, change)
    with pytest.raises(InputError, match=told):
        load_study(study)


@pytest.mark.parametrize(
    "response", [RATINGS, LABEL | {"id": "kind"}, LINES, {"form": "text"}], ids=lambda r: r["form"]
)
def test_answers_of_every_form_become_judgments(tmp_path, run, server, response):
    form = response["form"]
    study = write_study(tmp_path / "posts", items(response, answer="free" if form == "text" else "json"))
    assert collect(study, run, base_url=server.url) == 0
    responses, judgments = (validate(table(run, name), name) for name in ("responses", "judgments"))
    assert not (run / "choices.parquet").exists()
    assert set(responses["item_id"]) == {f"post_{n}" for n in range(len(TEXTS))}
    assert responses["model_returned"].eq("gpt-4o-mini-fake").all()
    assert (responses["cost"] > 0).all()
    assert sum(server.counts()["answered"].values()) == len(TEXTS)
    texts = responses.set_index("item_id")["text"].sort_index()
    values = judgments.pivot(index="item_id", columns="dimension", values="value").sort_index()
    if form == "ratings":
        assert pd.api.types.is_numeric_dtype(judgments["value"])
        assert values["threat"].between(0, 4).all()
        assert values["hate"].between(1, 7).all()
        assert [json.loads(text) for text in texts] == values[["threat", "hate"]].to_dict("records")
    elif form == "label":
        assert [json.loads(text) for text in texts] == values.to_dict("records")
    elif form == "line_labels":
        assert values.shape == (len(TEXTS), 2)
        assert set(judgments["value"].dropna()) <= {label["id"] for label in LABELS}
        statuses = judgments.sort_values(["item_id", "dimension"])["status"].astype(str)
        assert statuses.tolist() == ["ok", "unparsed"] * len(
            TEXTS
        )  # the fake model labels the first line only
    else:
        assert texts.str.startswith("Answer ").all()
        assert values["text"].tolist() == texts.tolist()


@pytest.mark.long
@pytest.mark.parametrize(
    ("heading", "files", "to_send", "in_system", "in_user"),
    [
        (
            "A minimal study of items",
            {"study.yaml", "items.csv", "prompt.j2"},
            2,
            r'- "friendly": Friendliness, from 0 to 4',
            r'^Item\n{"text": ',
        ),
        (
            "A minimal conjoint",
            {"study.yaml", "system.j2", "user.j2"},
            8,
            "the letter A or the letter B",
            r'First flat \(A\): {"Size": "\d0 square metres", "Street": ',
        ),
    ],
)
def test_the_studies_that_the_documents_print_are_complete(
    tmp_path, run, capsys, heading, files, to_send, in_system, in_user
):
    folder = tmp_path / "printed"
    folder.mkdir()
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    printed = dict(re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", section, re.DOTALL))
    assert set(printed) == files
    for name, content in printed.items():
        (folder / name).write_text(content, encoding="utf-8")
    if "conjoint" in heading:
        study = load_study(folder)
        run_folder(study, run).draw(study, None, None, None)
    assert collect(folder, run, "mini", dry_run=True) == 0
    assert f"{to_send} to send" in capsys.readouterr().out
    system, user = (message["content"] for message in requests_of(folder, judge="mini")[0].body["messages"])
    assert in_system in system
    assert re.search(in_user, user)


def test_the_template_that_the_documents_print_names_item_and_labels(tmp_path):
    content = items(LABEL)
    content["prompts"][0]["user"] = "user.j2"
    folder = write_study(tmp_path / "posts", content)
    printed = re.search(r"A user template for labels:\n\n```jinja\n(.*?)```", PAGE, re.DOTALL)
    (folder / "user.j2").write_text(printed[1], encoding="utf-8")
    user = requests_of(folder)[0].body["messages"][-1]["content"]
    assert '"text": ' in user
    assert user.splitlines()[-3:] == [f'- "{label["id"]}" ({label["label"]})' for label in LABELS]
