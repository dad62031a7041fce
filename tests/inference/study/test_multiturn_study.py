"""The multiturn study that ships."""

from __future__ import annotations

import pytest

from conjury.inference.collecting.runs import RunFolder
from conjury.inference.perturb import perturb_items
from conjury.inference.readers.labels import read_labels
from conjury.inference.requests.building import Builder
from conjury.inference.requests.templates import Templates
from conjury.inference.study import load_any_study
from conjury.inference.tables import read_table


@pytest.fixture(scope="module")
def study():
    return load_any_study("multiturn")


@pytest.fixture(scope="module")
def items(study):
    return read_table(study.folder / study.items, "items").set_index("item_id")


@pytest.fixture(scope="module")
def gold(study):
    return read_labels(study.folder / study.gold.file, study)


def test_both_prompts_ask_for_their_labels_under_the_keys_of_the_paper(study):
    joke, lines = study.response_of("joke"), study.response_of("lines")
    assert (joke.json_key, joke.reasoning, lines.json_key, lines.lines) == (
        "category",
        "reasoning",
        "ANSWER",
        "text",
    )
    assert len(joke.labels) == 13
    assert len({label.id for label in lines.labels} - {"setup"}) == 12
    assert study.response_of(None) is joke


def test_every_model_stops_where_the_paper_says_and_is_sampled_five_times(study):
    assert len(study.judges) == 7
    asked = [judge.ask for judge in study.judges if judge.ask is not None]
    assert {(ask.settings["stop"][0], ask.settings["max_tokens"], ask.samples) for ask in asked} == {
        ("###END", 2048, 5)
    }
    assert len({ask.model for ask in asked}) == 7
    assert len({ask.settings["temperature"] for ask in asked}) == 2


def test_every_line_of_every_joke_has_one_gold_label(study, items, gold):
    assert len(gold)
    assert items["language"].value_counts().to_dict() == {"en": 12, "es": 8}
    lines = items["text"].str.count("\n") + 1
    assert lines.between(4, 10).all()
    assert (lines == items["n_lines"]).all()
    per_item = {name: set(sets) for name, sets in gold.groupby("item_id")["label_set"]}
    assert per_item == {
        name: {"joke_type", *(f"line_{line}" for line in range(1, n + 1))} for name, n in lines.items()
    }


def test_every_label_is_gold_somewhere(study, gold):
    tasks = gold["label_set"].str.replace(r"_\d+$", "", regex=True)
    for task in study.label_sets:
        assert set(gold.loc[tasks == task, "label"]) == set(study.gold_labels(task))


def test_prompts_show_the_lines_name_all_labels_and_say_which_language(study, items):
    ask = study.judges[0].ask
    content = RunFolder(study.folder / "none").content(study)
    builder = Builder(study, "qwen3_8b", ask, study.prompts, str)
    said = {
        (request.prompt_id, request.subject_id): request.body["messages"][-1]["content"]
        for request in builder.requests(content.subjects())
        if request.sample == 1
    }
    assert len(said) == 40
    for (prompt, name), text in said.items():
        response = study.response_of(prompt)
        assert items.loc[name, "text"] in text
        assert all(label.label in text for label in response.labels)
        assert f'"{response.json_key}"' in text
        assert "###END" in text
        assert ("in Spanish" in text) == (items.loc[name, "language"] == "es")
        assert content.lines("text", name) == items.loc[name, "n_lines"]


@pytest.mark.parametrize(
    ("kind", "fewest"), [("orthographic", 8), ("drift", 6), ("preserving", 4), ("dialect", 6)]
)
def test_every_perturbation_has_pairs_in_both_languages(items, gold, kind, fewest):
    made = perturb_items(items.reset_index(), [kind], labels=gold, only=["punchline"])
    by_language = made.summary.set_index("language")["n_pairs"]
    assert set(by_language.index) == {"en", "es"}
    assert (by_language >= fewest).all()


def test_templates_say_nothing_that_a_joke_could_not(study):
    templates = Templates(study.folder)
    for prompt in study.prompts:
        assert templates.names(prompt.user) == {"strata", "item", "labels"}
