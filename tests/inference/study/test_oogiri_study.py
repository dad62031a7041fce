"""The oogiri study as it ships: items and pictures, and collecting with a server and by simulation."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from fakes.studies import collect, table
from PIL import Image

from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.requests.media import resolve
from conjury.inference.simulation import simulate_ratings
from conjury.inference.simulation.ratings import read_items
from conjury.inference.study import ItemStudy, list_studies, load_any_study
from conjury.inference.tables import validate

SCRIPT = Path(__file__).parents[2] / "fixtures" / "oogiri" / "make_pictures.py"


@pytest.fixture(scope="module")
def study():
    return load_any_study("oogiri")


def rated_models(study: ItemStudy) -> list[str]:
    return [judge.id for judge in study.judges if judge.kind == "model"]


def test_the_study_ships_with_its_roles(study):
    assert "oogiri" in list_studies()
    assert list(study.scale_labels) == [
        *("novelty", "clarity", "relevance", "intelligence", "empathy", "funniness"),
    ]
    assert all((scale.minimum, scale.maximum) == (0, 4) for scale in study.scales)
    assert all([anchor.value for anchor in scale.anchors or ()] == [0, 2, 4] for scale in study.scales)
    assert study.main == "funniness"
    assert study.tiers.levels == ["high", "mid", "low"]
    assert study.judge_labels["gemini_2_5_pro"] == "Gemini 2.5 Pro"
    assert set(rated_models(study)) <= set(study.levels("response_type"))


def test_every_topic_has_each_type_of_response_once(study):
    items = validate(read_items(study), "items")
    kinds = items.drop_duplicates("topic_id")["modality"].astype(str).value_counts().to_dict()
    assert kinds == {"text": 8, "image": 4}
    assert not items.duplicated(["topic_id", "response_type"]).any()
    assert (items.groupby("topic_id").size() == 8).all()
    best = items[items["response_type"] == "high"].set_index("topic_id")["response"]
    other = items[items["response_type"] == "unrelated"].set_index("topic_id")["response"]
    assert sorted(best) == sorted(other)
    assert (best != other).all()
    assert not items[items["response_type"] != "unrelated"]["response"].duplicated().any()
    assert items["votes"].isna().all()  # nobody voted


def test_pictures_are_small_have_words_and_come_from_the_script(study, tmp_path):
    items = read_items(study)
    pictured = items[items["modality"] == "image"]
    assert pictured[["media", "alt"]].notna().all(axis=None)
    assert items.loc[items["modality"] == "text", ["media", "alt"]].isna().all(axis=None)
    spec = importlib.util.spec_from_file_location("make_pictures", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.write_pictures(tmp_path / "pictures")
    for name in pictured["media"].unique():
        file = study.folder / str(name)
        assert file.stat().st_size < 20_000
        with Image.open(file) as shipped, Image.open(tmp_path / str(name)) as drawn:
            assert shipped.size == (480, 360)
            assert shipped.convert("RGB").tobytes() == drawn.convert("RGB").tobytes()


def of_topics(study: ItemStudy, folder: Path, *topics: str) -> ItemStudy:
    """Copy the study with the items of some topics."""
    shutil.copytree(study.folder, folder)
    items = pd.read_csv(folder / "items.csv", dtype=str)
    items[items["topic_id"].isin(topics)].to_csv(folder / "items.csv", index=False)
    return load_any_study(folder)


def test_pictures_go_out_beside_the_response_and_texts_as_text(study, tmp_path, server):
    study = of_topics(study, tmp_path / "oogiri", "text_02", "image_03")
    shown = read_items(study).set_index("item_id")
    assert collect(study.folder, tmp_path, "gpt_4_1", base_url=server.url, model="gpt-4o-mini") == 0
    judgments = validate(table(tmp_path, "judgments"), "judgments")
    assert len(judgments) == 16 * 6
    assert judgments["status"].eq("ok").all()
    assert judgments["value"].between(0, 4).all()
    with Ledger.open(tmp_path / "ledger.sqlite", write=False) as ledger:
        for answered in (row for chunk in ledger.answers() for row in chunk):
            body = resolve(ledger.request_body(answered.key), ledger.media)
            system, user = (message["content"] for message in body["messages"])
            item = shown.loc[answered.subject_id]
            assert all(scale.description in system for scale in study.scales)
            assert all(anchor.text in system for scale in study.scales for anchor in scale.anchors or ())
            text = user if isinstance(user, str) else user[0]["text"]
            assert json.loads(text.removeprefix("Entry\n")) == {
                "topic": item["topic"],
                "response": item["response"],
            }
            assert isinstance(user, str) == (item["modality"] == "text")
            if item["modality"] == "image":
                kinds = [part["type"] for part in user]
                assert kinds == ["text", "text", "image_url"]
                assert user[-1]["image_url"]["url"].startswith("data:image/png;base64,")
            said = json.dumps(user)
            assert str(item["generator"]) not in said  # judges are not told who wrote a response
            assert str(item["response_type"]) + '"' not in said


def test_a_simulated_judge_answers_by_the_truth_table(study, tmp_path):
    study = of_topics(study, tmp_path / "oogiri", "text_02", "image_03")
    assert collect(study.folder, tmp_path, "claude_sonnet_4", backend="simulated", samples=2) == 0
    judgments = validate(table(tmp_path, "judgments"), "judgments")
    assert judgments["status"].eq("ok").all()
    assert judgments["origin"].eq("simulated").all()
    made = simulate_ratings(
        study, study.collect.seed, judges=["claude_sonnet_4"], samples=2, items=read_items(study)
    ).judgments
    keys = ["item_id", "dimension", "sample"]
    both = judgments.merge(made, on=keys, suffixes=("", "_made"), validate="one_to_one")
    assert len(both) == len(made) == 16 * 6 * 2
    assert (both["value"].astype(int) == both["value_made"].astype(int)).all()
    with pytest.raises(InputError, match="'smith' is unknown here"):
        collect(study.folder, tmp_path / "other", "smith", backend="simulated", model="x")


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("response_type", "hihg", "row 1 of column 'response_type' contains 'hihg' .did you mean 'high'"),
        ("generator", "gpt_5", "row 1 of column 'generator' contains 'gpt_5'.*use one of human, gpt_4_1"),
        ("topic_id", None, "topic_id"),
        ("modality", "video", "row 1 of column 'modality' contains 'video'"),
    ],
)
def test_items_that_do_not_fit_the_study_are_told_by_row(study, tmp_path, column, value, told):
    folder = tmp_path / "oogiri"
    shutil.copytree(study.folder, folder)
    items = pd.read_csv(folder / "items.csv", dtype=str)
    if value is None:
        items = items.drop(columns=column)
    else:
        items.loc[0, column] = value
    items.to_csv(folder / "items.csv", index=False)
    changed = load_any_study(folder)
    with pytest.raises(InputError, match=told):
        read_items(changed)


def test_the_study_of_generation_has_the_same_topics_and_pictures(study):
    other = load_any_study("oogiri_generation")
    topics = read_items(other).set_index("item_id")
    rated = read_items(study).drop_duplicates("topic_id").set_index("topic_id")
    columns = ["topic", "media", "alt"]
    pd.testing.assert_frame_equal(topics[columns], rated[columns], check_names=False)
    for name in topics["media"].dropna():
        assert (other.folder / name).read_bytes() == (study.folder / name).read_bytes()
    assert {judge.id for judge in other.judges} == set(rated_models(study))


def test_models_write_responses_to_topics(tmp_path, server):
    folder = load_any_study("oogiri_generation").folder
    assert collect(folder, tmp_path, "gpt_4_1", base_url=server.url, model="gpt-4o-mini") == 0
    judgments = validate(table(tmp_path, "judgments"), "judgments")
    assert judgments["status"].eq("ok").all()
    assert judgments.groupby("prompt_id").size().to_dict() == {"funny": 12, "serious": 12}
    assert judgments["value"].str.len().gt(0).all()
