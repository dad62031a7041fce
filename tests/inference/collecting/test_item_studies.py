"""Studies of items in every response form, from the study file to judgments, with the fake server."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.answers import content_hash
from fakes.server import FakeServer
from fakes.studies import LABELS, RATINGS, TEXTS, change_study, collect, items, table, towns, write_study
from PIL import Image

from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.requests.media import resolve
from conjury.inference.study import load_any_study
from conjury.inference.tables import validate

FORMS: dict[str, dict[str, Any]] = {
    "ratings": RATINGS,
    "label": {"form": "label", "id": "kind", "labels": LABELS},
    "line_labels": {"form": "line_labels", "labels": LABELS},
    "text": {"form": "text"},
}


def run_items(folder: Path, server: FakeServer, response: dict[str, Any], **ask: Any) -> pd.DataFrame:
    """Collect a study of items and return its judgments."""
    study = write_study(folder / "posts", items(response, **ask))
    assert collect(study, folder / "run", base_url=server.url) == 0
    responses = table(folder / "run", "responses")
    judgments = table(folder / "run", "judgments")
    validate(responses, "responses")
    validate(judgments, "judgments")
    assert not (folder / "run" / "choices.parquet").exists()
    assert set(responses["item_id"]) == {f"post_{n}" for n in range(len(TEXTS))}
    assert responses["model_returned"].eq("gpt-4o-mini-fake").all()
    assert (responses["cost"] > 0).all()
    assert sum(server.counts()["answered"].values()) == len(TEXTS)
    return judgments.set_index(["item_id", "dimension"]).sort_index()


def test_ratings_become_a_number_for_each_scale(tmp_path, server):
    found = run_items(tmp_path, server, RATINGS)
    assert len(found) == 2 * len(TEXTS)
    assert pd.api.types.is_numeric_dtype(found["value"])
    assert found.loc[pd.IndexSlice[:, "threat"], "value"].between(0, 4).all()
    assert found.loc[pd.IndexSlice[:, "hate"], "value"].between(1, 7).all()
    said = table(tmp_path / "run", "responses").set_index("item_id")["text"]
    for name, text in said.items():
        assert json.loads(text) == {scale: found.loc[(name, scale), "value"] for scale in ("threat", "hate")}


def test_a_label_is_one_of_those_of_the_study(tmp_path, server):
    found = run_items(tmp_path, server, FORMS["label"])
    assert found.index.get_level_values("dimension").unique().tolist() == ["kind"]
    said = table(tmp_path / "run", "responses").set_index("item_id")["text"]
    assert {name: json.loads(text)["kind"] for name, text in said.items()} == dict(
        found["value"].droplevel("dimension")
    )


def test_every_line_has_a_judgment_and_lines_without_a_label_are_told(tmp_path, server):
    found = run_items(tmp_path, server, FORMS["line_labels"])
    assert found.groupby("item_id").size().tolist() == [2] * len(TEXTS)
    # the fake model labels the first line only
    assert found["status"].astype(str).tolist() == ["ok", "unparsed"] * len(TEXTS)
    assert set(found["value"].dropna()) <= {label["id"] for label in LABELS}


def test_free_text_is_kept_as_it_was_written(tmp_path, server):
    found = run_items(tmp_path, server, FORMS["text"], answer="free")
    said = table(tmp_path / "run", "responses").set_index("item_id")["text"]
    assert said.str.startswith("Answer ").all()
    assert dict(found["value"].droplevel("dimension")) == dict(said)


def test_images_are_sent_as_data_and_judged(tmp_path, server):
    study = write_study(tmp_path / "posts", items(FORMS["label"]))
    held = io.BytesIO()
    Image.new("RGB", (4, 4)).save(held, "PNG")
    (study / "a.png").write_bytes(held.getvalue())
    (study / "items.csv").write_text("item_id,modality,media,alt\npost_0,image,a.png,Grey\n")
    assert collect(study, tmp_path / "run", base_url=server.url) == 0
    assert table(tmp_path / "run", "judgments")["status"].eq("ok").all()
    with Ledger.open(tmp_path / "run" / "ledger.sqlite", write=False) as ledger:
        ((answered,),) = ledger.answers()
        body = ledger.request_body(answered.key)
        sent = resolve(body, ledger.media)
    assert f"media:{hashlib.sha256(held.getvalue()).hexdigest()}" in json.dumps(body)
    assert base64.b64encode(held.getvalue()).decode() in json.dumps(sent)
    assert server.counts()["answered"] == {content_hash(sent): 1}


def test_only_the_first_items_are_asked_and_the_rest_later(tmp_path, server):
    study = write_study(tmp_path / "posts", items(FORMS["label"], answer="free"))
    for first, n in ((1, 1), (3, 3), (None, 4)):
        assert collect(study, tmp_path / "run", base_url=server.url, pairs=first) == 0
        assert table(tmp_path / "run", "responses")["item_id"].nunique() == n
    assert sum(server.counts()["answered"].values()) == 4


def test_single_profiles_of_a_conjoint_can_be_rated(tmp_path, server):
    content = towns() | {"response": RATINGS}
    content["collect"]["form"] = "single"
    content["judges"] = [judge for judge in content["judges"] if judge["id"] == "judge"]
    content["judges"][0]["ask"]["answer"] = "json"
    study = write_study(tmp_path / "towns", content)
    assert collect(study, tmp_path / "run", prompts=["plain"], base_url=server.url) == 0
    judgments = validate(table(tmp_path / "run", "judgments"), "judgments")
    profiles = pd.read_parquet(tmp_path / "run" / "design" / "profiles.parquet")
    assert set(judgments["item_id"]) == {f"profile_{number}" for number in profiles["profile_id"]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda c: c["response"]["scales"][0].update(maximum=0),
            r"study\.yaml:\d+: threat: the scale ends at 0",
        ),
        (lambda c: c["response"]["scales"][1].update(id="threat"), r"scale 'threat' is given twice"),
        (lambda c: c.update(response={"form": "choice"}), r"a choice needs two posts at once"),
        (lambda c: c.update(response={"form": "stars"}), r"response.*'stars'"),
        (lambda c: c.update(response={"form": "label", "labels": [LABELS[0]] * 2}), "given twice"),
        (lambda c: c["judges"][0]["ask"].update(answer="token"), "longer than one token; use json or free"),
        (lambda c: c["judges"][0].update(kind="human"), "people are not asked over an interface"),
        (lambda c: c["judges"].append(c["judges"][0]), "judge 'judge' is given twice"),
        (lambda c: c["prompts"][0].update(template="gone.j2"), r"there is no file gone\.j2"),
        (lambda c: c["prompts"][0].update(template="../plain.j2"), "lies outside the folder of the study"),
        (lambda c: c["prompts"][0].update(aliases=["plain"]), "prompt 'plain' is given twice"),
        (lambda c: c["judges"][0]["ask"].update(settings={"stop": {1, 2}}), "settings"),
        (lambda c: c["judges"][0]["ask"].update(settings={"temperature": float("nan")}), "settings"),
        (lambda c: c["judges"][0]["ask"].update(key_variable="sk-123"), "key_variable"),
        (lambda c: c.update(items="gone.csv"), r"gone\.csv"),
        (lambda c: c["judges"][0]["ask"].update(engine={"since": date(2025, 1, 1)}), "engine"),
    ],
)
def test_studies_that_contradict_themselves_are_refused(tmp_path, change, told):
    study = write_study(tmp_path / "posts", items(RATINGS))
    change_study(study, change)
    with pytest.raises(InputError, match=told):
        collect(study, tmp_path / "run", dry_run=True)


def test_settings_by_number_and_date_mean_the_same_in_the_next_process(tmp_path, server):
    content = items(FORMS["label"], settings={"logit_bias": {1234: -100}, "temperature": 0})
    study = write_study(tmp_path / "posts", content)
    assert collect(study, tmp_path / "run", base_url=server.url, pairs=1) == 0
    assert collect(study, tmp_path / "run", base_url=server.url) == 0
    ask = load_any_study(study).judges[0].ask
    assert ask.settings["logit_bias"] == {"1234": -100}


def test_pairs_cannot_be_rated(tmp_path):
    study = write_study(tmp_path / "towns", towns() | {"response": {"form": "label", "labels": LABELS}})
    with pytest.raises(InputError, match="pairs are judged by a choice, but the file says 'label'"):
        load_any_study(study)
