"""The study of harm and humor that ships: its items, gold labels and judges."""

from __future__ import annotations

import hashlib
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from conjury.inference.readers.judged.gold_labels import majority_labels, read_labels
from conjury.inference.study import load_any_study

SCRIPTS = Path(__file__).resolve().parents[2] / "fixtures" / "harm_or_humor"


@pytest.fixture(scope="module")
def study():
    return load_any_study("harm_or_humor")


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(SCRIPTS / name))


def test_every_modality_has_items_whose_origin_and_hash_are_named(study):
    items = pd.read_csv(study.folder / study.items, keep_default_na=False)
    counts = items.groupby(["modality", "language"]).size().to_dict()
    languages = ("en", "ar", "universal")
    expected = {(kind, language): n for kind, n in (("image", 3), ("video", 2)) for language in languages}
    assert counts == {("text", "en"): 8, ("text", "ar"): 8, **expected}
    assert (items[["source", "author", "licence"]] != "").all(axis=None)
    assert ((items["text"] != "") == (items["modality"] == "text")).all()
    assert ((items["alt"] != "") == (items["modality"] != "text")).all()
    shown = items[items["modality"] != "text"]
    contents = [(study.folder / name).read_bytes() for name in shown["media"]]
    assert [hashlib.sha256(content).hexdigest() for content in contents] == shown["media_sha256"].tolist()
    assert max(map(len, contents)) < 200_000
    there = {str(path.relative_to(study.folder)) for path in study.folder.glob("[cp]*s/*.[!j]*")}
    assert there == set(shown["media"])


def test_gold_labels_are_those_of_the_majority_for_harm_then_of_its_kind(study):
    annotations = pd.read_csv(study.folder / "annotations.csv")
    items = pd.read_csv(study.folder / study.items)["item_id"]
    assert annotations.groupby("item_id")["judge_id"].nunique().to_dict() == dict.fromkeys(items, 7)
    votes = majority_labels(annotations, "harm", covers=study.gold.covers).set_index("item_id")
    gold = read_labels(study.folder / study.gold.file, study).set_index("item_id")["label"]
    assert votes["label"].dropna().to_dict() == gold.to_dict()
    assert gold[["text_en_04", "image_un_implicit"]].tolist() == ["implicit"] * 2
    assert not votes["tied"].any()
    assert set(gold) == {"safe", "implicit", "explicit"}
    named = gold[gold.index.str.match("image|video")]
    assert (named.index.str.rpartition("_").get_level_values(2) == named).all()


def test_models_are_asked_in_the_modalities_of_the_papers_tables(study):
    models = [judge for judge in study.judges if judge.kind == "model"]
    by_prompt = {
        prompt.id: sum(judge.prompts is None or prompt.id in judge.prompts for judge in models)
        for prompt in study.prompts
    }
    assert by_prompt == {"text": 10, "image": 11, "video": 6}
    for judge in models:
        needs = {"image": {"image"}, "video": {"image", "video"}}
        for prompt in judge.prompts or [part.id for part in study.prompts]:
            assert prompt == "text" or needs[prompt] & set(judge.ask.takes), judge.id


def make_twice(folder: Path, file: str, function: str) -> list[Path]:
    """Files that a script makes, which are the same bytes when they are made again."""
    if not script("drawing.py")["can_shape"]():
        pytest.skip("needs a Pillow with libraqm")
    for name in ("once", "again"):
        script(file)[function](folder / name)
    made = sorted((folder / "once").iterdir())
    assert all(path.read_bytes() == (folder / "again" / path.name).read_bytes() for path in made)
    return made


@pytest.mark.long
def test_pictures_are_drawn_to_the_same_bytes_and_are_the_ones_that_ship(study, tmp_path):
    for path in make_twice(tmp_path, "make_pictures.py", "write_pictures"):
        shipped = study.folder / "pictures" / path.name
        ours, theirs = (np.asarray(Image.open(file).convert("RGB"), dtype=float) for file in (path, shipped))
        assert np.abs(ours - theirs).mean() < 1.0
