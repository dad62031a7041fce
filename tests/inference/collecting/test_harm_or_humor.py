from __future__ import annotations

import hashlib
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fakes.studies import collect, table
from PIL import Image

from conjury.inference.ledger import Ledger
from conjury.inference.readers.judgments import majority_labels, read_labels
from conjury.inference.study import load_any_study

SCRIPTS = Path(__file__).resolve().parents[2] / "fixtures" / "harm_or_humor"


@pytest.fixture(scope="module")
def study():
    return load_any_study("harm_or_humor")


@pytest.fixture(scope="module")
def items(study):
    return pd.read_csv(study.folder / study.items, keep_default_na=False)


@pytest.fixture(scope="module")
def annotations(study):
    return pd.read_csv(study.folder / "annotations.csv")


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(SCRIPTS / name))


def test_every_modality_has_items_and_every_item_says_where_it_comes_from(items):
    counts = items.groupby(["modality", "language"]).size().to_dict()
    assert counts == {
        **{("text", language): 8 for language in ("en", "ar")},
        **{("image", language): 3 for language in ("en", "ar", "universal")},
        **{("video", language): 2 for language in ("en", "ar", "universal")},
    }
    assert (items[["source", "author", "licence"]] != "").all(axis=None)
    assert ((items["text"] != "") == (items["modality"] == "text")).all()
    assert ((items["alt"] != "") == (items["modality"] != "text")).all()


def test_files_are_the_ones_whose_hashes_the_items_name(study, items):
    shown = items[items["modality"] != "text"]
    for name, sha256 in zip(shown["media"], shown["media_sha256"], strict=True):
        content = (study.folder / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == sha256
        assert len(content) < 200_000
    there = {str(path.relative_to(study.folder)) for path in study.folder.glob("[cp]*s/*.[!j]*")}
    assert there == set(shown["media"])


def test_gold_labels_are_those_of_the_majority_for_harm_then_of_its_kind(study, items, annotations):
    assert annotations.groupby("item_id")["judge_id"].nunique().to_dict() == dict.fromkeys(
        items["item_id"], 7
    )
    votes = majority_labels(annotations, "harm", covers=study.gold.covers).set_index("item_id")
    gold = read_labels(study.folder / study.gold.file, study).set_index("item_id")["label"]
    assert votes["label"].dropna().to_dict() == gold.to_dict()
    assert gold[["text_en_04", "image_un_implicit"]].tolist() == ["implicit"] * 2
    assert not votes["tied"].any()
    assert set(gold) == {"safe", "implicit", "explicit"}


def test_gold_labels_agree_with_the_names_of_pictures_and_clips(study):
    gold = pd.read_csv(study.folder / "labels.csv").set_index("item_id")["label"]
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


def test_pictures_are_drawn_to_the_same_bytes_and_are_the_ones_that_ship(study, tmp_path):
    if not script("drawing.py")["can_shape"]():
        pytest.skip("needs a Pillow with libraqm")
    make = script("make_pictures.py")["write_pictures"]
    for name in ("once", "again"):
        make(tmp_path / name)
    for path in sorted((tmp_path / "once").iterdir()):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
        ours = np.asarray(Image.open(path).convert("RGB"), dtype=float)
        shipped = np.asarray(Image.open(study.folder / "pictures" / path.name).convert("RGB"), dtype=float)
        assert np.abs(ours - shipped).mean() < 1.0


@pytest.mark.long
def test_clips_are_made_to_the_same_bytes_and_look_like_the_ones_that_ship(study, tmp_path):
    pytest.importorskip("av", reason="needs PyAV (the extra media)")
    from conjury.inference.requests.video import cut_frames, read_clip

    if not script("drawing.py")["can_shape"]():
        pytest.skip("needs a Pillow with libraqm")
    make = script("make_clips.py")["write_clips"]
    for name in ("once", "again"):
        make(tmp_path / name)

    def shown(path: Path) -> list[np.ndarray[Any, Any]]:
        import io

        frames = cut_frames(read_clip(path), 4, 64, 320)
        return [np.asarray(Image.open(io.BytesIO(frame.content)), dtype=float) for frame in frames]

    for path in sorted((tmp_path / "once").iterdir()):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
        pairs = zip(shown(path), shown(study.folder / "clips" / path.name), strict=True)
        assert all(np.abs(ours - shipped).mean() < 3.0 for ours, shipped in pairs)


def test_simulated_judges_answer_in_every_modality(study, tmp_path):
    pytest.importorskip("av", reason="needs PyAV (the extra media)")
    for judge, n in (("gemini_2_5_pro", 31), ("qwen2_5_omni", 6)):
        assert collect(study.folder, tmp_path, judge, backend="simulated") == 0
        made = table(tmp_path, "judgments")
        mine = made[made["judge_id"] == judge]
        assert (len(mine), set(mine["dimension"]), set(mine["status"])) == (n, {"harm"}, {"ok"})
        assert set(mine["value"]) == {"harmful", "safe"}
    assert set(made["prompt_id"]) == {"text", "image", "video"}
    with Ledger.open(tmp_path / "ledger.sqlite", write=False) as ledger:
        keys = {
            key.judge_id: key.key for part in ledger.answers() for key in part if "un_exp" in key.subject_id
        }
        sent = {judge: ledger.request_body(key)["messages"][1]["content"] for judge, key in keys.items()}
    kinds = {
        judge: [part["type"] for part in parts if part["type"] != "text"] for judge, parts in sent.items()
    }
    assert kinds == {
        "gemini_2_5_pro": ["image_url"] * 25 + ["input_audio"],
        "qwen2_5_omni": ["video_url", "input_audio"],
    }
