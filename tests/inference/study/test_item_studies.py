"""Studies of items: strata, tiers and assignment of a file; the oogiri and multiturn studies that ship."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cases import cases
from fakes.studies import RATINGS, change_study, collect, items, table, write_study
from PIL import Image

from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import resolve
from conjury.inference.perturb import perturb_items
from conjury.inference.readers.judged.gold_labels import read_labels
from conjury.inference.requests.building import Builder
from conjury.inference.requests.templates import Templates
from conjury.inference.simulation import simulate_ratings
from conjury.inference.simulation.ratings import read_items
from conjury.inference.study import ItemStudy, load_any_study
from conjury.inference.tables import read_table, validate

# --- fields of a file -----------------------------------------------------------------------------

LEVELS = [{"id": "high", "label": "Most"}, {"id": "low", "label": "Fewest"}, {"id": "odd", "label": "?"}]
FIELDS: dict[str, Any] = {
    "strata": [{"id": "tier", "label": "Votes", "levels": LEVELS}],
    "cluster": "topic_id",
    "generator": "writer",
    "main": "hate",
    "tiers": {"column": "tier", "levels": ["high", "low"]},
    "unrelated": {"column": "tier", "level": "odd"},
    "assignment": {"within": "topic_id", "across": "tier", "raters": 4, "repeats": 1},
}


def test_strata_scales_and_assignment_are_those_of_the_file(tmp_path):
    study = load_any_study(write_study(tmp_path / "posts", items(RATINGS) | FIELDS))
    assert study.collect.swapped_share == 0
    assert study.scale_labels == {"threat": "Threat", "hate": "Hate"}
    assert study.feature_labels == {"tier": "Votes"}
    assert study.level_labels["tier"]["low"] == "Fewest"
    assert study.levels("tier") == ["high", "low", "odd"]
    assert (study.assignment.raters, study.assignment.repeats) == (4, 1.0)
    labels = load_any_study(write_study(tmp_path / "labels", items({"form": "text"}, answer="free")))
    assert (labels.scales, labels.scale_labels) == ([], {})


@pytest.mark.parametrize(("field", "changes", "told"), cases(__file__, "fields"))
def test_wrong_fields_are_told_by_line(tmp_path, field, changes, told):
    path = write_study(tmp_path / "posts", items(RATINGS) | FIELDS)

    def change(content: dict[str, Any]) -> None:
        parts = {"": content, "stratum": content["strata"][0], "scale": content["response"]["scales"][0]}
        (parts | content)[field].update(changes)

    change_study(path, change)
    with pytest.raises(InputError, match=told):
        load_any_study(path)


# --- oogiri ---------------------------------------------------------------------------------------

SCRIPT = Path(__file__).parents[2] / "fixtures" / "oogiri" / "make_pictures.py"


@pytest.fixture(scope="module")
def small(oogiri, tmp_path_factory):
    """A copy of the study with the items of a topic in words and one with a picture."""
    folder = tmp_path_factory.mktemp("small") / "oogiri"
    shutil.copytree(oogiri.folder, folder)
    responses = pd.read_csv(folder / "items.csv", dtype=str)
    kept = responses[responses["topic_id"].isin(["text_02", "image_03"])]
    kept.to_csv(folder / "items.csv", index=False)
    return load_any_study(folder)


def rated_models(study: ItemStudy) -> set[str]:
    return {judge.id for judge in study.judges if judge.kind == "model"}


def test_oogiri_has_its_roles_and_every_topic_each_type_of_response_once(oogiri):
    assert list(oogiri.scale_labels) == [
        "novelty",
        "clarity",
        "relevance",
        "intelligence",
        "empathy",
        oogiri.main,
    ]
    assert all((scale.minimum, scale.maximum) == (0, 4) for scale in oogiri.scales)
    assert oogiri.tiers.levels == ["high", "mid", "low"]
    assert rated_models(oogiri) <= set(oogiri.levels("response_type"))
    responses = validate(read_items(oogiri), "items")
    kinds = responses.drop_duplicates("topic_id")["modality"].astype(str).value_counts().to_dict()
    assert kinds == {"text": 8, "image": 4}
    assert not responses.duplicated(["topic_id", "response_type"]).any()
    assert (responses.groupby("topic_id").size() == 8).all()
    by_type = responses.pivot(index="topic_id", columns="response_type", values="response")
    assert sorted(by_type["high"]) == sorted(by_type["unrelated"])
    assert (by_type["high"] != by_type["unrelated"]).all()
    assert not responses[responses["response_type"] != "unrelated"]["response"].duplicated().any()


def test_pictures_are_small_have_words_and_come_from_the_script(oogiri, tmp_path):
    responses = read_items(oogiri)
    pictured = responses[responses["modality"] == "image"]
    assert pictured[["media", "alt"]].notna().all(axis=None)
    assert responses.loc[responses["modality"] == "text", ["media", "alt"]].isna().all(axis=None)
    spec = importlib.util.spec_from_file_location("make_pictures", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.write_pictures(tmp_path / "pictures")
    for name in pictured["media"].unique():
        file = oogiri.folder / str(name)
        assert file.stat().st_size < 20_000
        with Image.open(file) as shipped, Image.open(tmp_path / str(name)) as drawn:
            assert shipped.size == (480, 360)
            assert shipped.convert("RGB").tobytes() == drawn.convert("RGB").tobytes()


def test_pictures_go_out_beside_the_response_and_texts_as_text(small, tmp_path, server):
    items = read_items(small).set_index("item_id")
    assert collect(small.folder, tmp_path, "gpt_4_1", base_url=server.url, model="gpt-4o-mini") == 0
    judgments = validate(table(tmp_path, "judgments"), "judgments")
    assert len(judgments) == 16 * 6
    assert judgments["status"].eq("ok").all()
    assert judgments["value"].between(0, 4).all()
    with Ledger.open(tmp_path / "ledger.sqlite", write=False) as ledger:
        for answered in (row for chunk in ledger.answers() for row in chunk):
            body = resolve(ledger.request_body(answered.key), ledger.media)
            system, user = (message["content"] for message in body["messages"])
            item = items.loc[answered.subject_id]
            assert all(scale.description in system for scale in small.scales)
            assert all(anchor.text in system for scale in small.scales for anchor in scale.anchors or ())
            text = user if isinstance(user, str) else user[0]["text"]
            entry = {name: item[name] for name in ("topic", "response")}
            assert json.loads(text.removeprefix("Entry\n")) == entry
            assert isinstance(user, str) == (item["modality"] == "text")
            if item["modality"] == "image":
                assert [part["type"] for part in user] == ["text", "text", "image_url"]
                assert user[-1]["image_url"]["url"].startswith("data:image/png;base64,")
            assert str(item["generator"]) not in json.dumps(user)  # judges do not learn who wrote a response
            assert str(item["response_type"]) + '"' not in json.dumps(user)


@pytest.mark.long
def test_a_simulated_judge_answers_by_the_truth_table(small, tmp_path):
    assert collect(small.folder, tmp_path, "claude_sonnet_4", backend="simulated", samples=2) == 0
    judgments = validate(table(tmp_path, "judgments"), "judgments")
    assert judgments["status"].eq("ok").all()
    assert judgments["origin"].eq("simulated").all()
    asked = {"judges": ["claude_sonnet_4"], "samples": 2, "items": read_items(small)}
    made = simulate_ratings(small, small.collect.seed, **asked).judgments
    keys = ["item_id", "dimension", "sample"]
    both = judgments.merge(made, on=keys, suffixes=("", "_made"), validate="one_to_one")
    assert len(both) == len(made) == 16 * 6 * 2
    assert (both["value"].astype(int) == both["value_made"].astype(int)).all()
    with pytest.raises(InputError, match=r"judge 'smith' cannot be simulated.*name human"):
        collect(small.folder, tmp_path / "other", "smith", backend="simulated", model="x")


@pytest.mark.parametrize(("column", "value", "told"), cases(__file__, "items"))
def test_items_that_do_not_fit_the_study_are_told_by_row(small, tmp_path, column, value, told):
    folder = tmp_path / "oogiri"
    shutil.copytree(small.folder, folder)
    responses = pd.read_csv(folder / "items.csv", dtype=str)
    changed = responses.assign(**{column: [value, *responses[column].iloc[1:]]})
    changed = changed.drop(columns=column) if value is None else changed
    changed.to_csv(folder / "items.csv", index=False)
    with pytest.raises(InputError, match=told):
        read_items(load_any_study(folder))


@pytest.mark.long
def test_models_write_responses_to_the_topics_and_pictures_that_are_rated(oogiri, tmp_path, server):
    other = load_any_study("oogiri_generation")
    topics = read_items(other).set_index("item_id")
    rated = read_items(oogiri).drop_duplicates("topic_id").set_index("topic_id")
    columns = ["topic", "media", "alt"]
    pd.testing.assert_frame_equal(topics[columns], rated[columns], check_names=False)
    for name in topics["media"].dropna():
        assert (other.folder / name).read_bytes() == (oogiri.folder / name).read_bytes()
    assert {judge.id for judge in other.judges} == rated_models(oogiri)
    assert collect(other.folder, tmp_path, "gpt_4_1", base_url=server.url, model="gpt-4o-mini") == 0
    judgments = validate(table(tmp_path, "judgments"), "judgments")
    assert judgments["status"].eq("ok").all()
    assert judgments.groupby("prompt_id").size().to_dict() == dict.fromkeys(
        ["funny", "funny_ja", "serious", "serious_ja"], 12
    )
    assert judgments["value"].str.len().gt(0).all()


# --- multiturn ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jokes(multiturn):
    return read_table(multiturn.folder / multiturn.items, "items").set_index("item_id")


@pytest.fixture(scope="module")
def gold(multiturn):
    return read_labels(multiturn.folder / multiturn.gold.file, multiturn)


def test_multiturn_asks_for_the_labels_and_stops_and_samples_as_the_paper(multiturn):
    joke, lines = multiturn.response_of("joke"), multiturn.response_of("lines")
    assert multiturn.response_of(None) is joke
    assert (joke.json_key, joke.reasoning) == ("category", "reasoning")
    assert (lines.json_key, lines.lines) == ("ANSWER", "text")
    assert len(joke.labels) == 13
    assert len({label.id for label in lines.labels} - {"setup"}) == 12
    assert len(multiturn.judges) == 7
    asked = [judge.ask for judge in multiturn.judges if judge.ask is not None]
    stops = {(ask.settings["stop"][0], ask.settings["max_tokens"], ask.samples) for ask in asked}
    assert stops == {("###END", 2048, 5)}
    assert len({ask.model for ask in asked}) == 7
    assert len({ask.settings["temperature"] for ask in asked}) == 2
    templates = Templates(multiturn.folder)
    for prompt in multiturn.prompts:
        assert templates.names(prompt.user) == {"strata", "item", "labels"}


def test_every_line_of_a_joke_has_one_gold_label_and_every_label_is_gold_somewhere(multiturn, jokes, gold):
    assert jokes["language"].value_counts().to_dict() == {"en": 12, "es": 8}
    lines = jokes["text"].str.count("\n") + 1
    assert lines.between(4, 10).all()
    assert (lines == jokes["n_lines"]).all()
    sets = {name: {"joke_type", *(f"line_{line}" for line in range(1, n + 1))} for name, n in lines.items()}
    assert {name: set(found) for name, found in gold.groupby("item_id")["label_set"]} == sets
    tasks = gold["label_set"].str.replace(r"_\d+$", "", regex=True)
    for task in multiturn.label_sets:
        assert set(gold.loc[tasks == task, "label"]) == set(multiturn.gold_labels(task))


def test_prompts_show_the_lines_name_all_labels_and_state_the_language(multiturn, jokes):
    ask = multiturn.judges[0].ask
    content = RunFolder(multiturn.folder / "none").content(multiturn)
    builder = Builder(multiturn, "qwen3_8b", ask, multiturn.prompts, str)
    first = [request for request in builder.requests(content.subjects()) if request.sample == 1]
    assert len({(request.prompt_id, request.subject_id) for request in first}) == len(first) == 40
    for request in first:
        text, joke = request.body["messages"][-1]["content"], jokes.loc[request.subject_id]
        response = multiturn.response_of(request.prompt_id)
        parts = [
            joke["text"],
            f'"{response.json_key}"',
            "###END",
            *(label.label for label in response.labels),
        ]
        assert all(part in text for part in parts)
        assert ("in Spanish" in text) == (joke["language"] == "es")
        assert content.lines("text", request.subject_id) == joke["n_lines"]


def test_every_perturbation_has_pairs_in_both_languages(jokes, gold):
    fewest = {"orthographic": 8, "drift": 6, "preserving": 4, "dialect": 6}
    made = perturb_items(jokes.reset_index(), list(fewest), labels=gold, only=["punchline"])
    pairs = made.summary.pivot(index="condition", columns="language", values="n_pairs")
    assert set(pairs.columns) == {"en", "es"}
    assert all((pairs.loc[kind] >= least).all() for kind, least in fewest.items())
