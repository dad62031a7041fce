"""What a study file says of faces, layouts and cues is checked when it is read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conjury.inference.errors import InputError
from conjury.inference.study import load_study

SOURCE = load_study("moderation").folder


def changed(folder: Path, *changes: tuple[str, str]) -> Path:
    """Copy the moderation study with texts of its file replaced; return the path of the file."""
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    path = folder / "study.yaml"
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path, words: str) -> str:
    """Return what reading says, less the path, having checked that it names the line with ``words``."""
    with pytest.raises(InputError) as refused:
        load_study(path)
    where, sentence = str(refused.value).removeprefix(f"{path}:").split(": ", 1)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert words in lines[int(where) - 1]
    assert sentence[-1] in ".?"
    return sentence


def test_faces_may_be_a_file_or_a_folder_beside_the_study(tmp_path):
    path = changed(tmp_path, ("faces: stimuli/faces.yaml", "faces: stimuli/people"))
    assert refusal(path, "faces:") == (
        "content: there is no file or folder stimuli/people next to the study file; write it or correct the "
        "path."
    )
    (tmp_path / "stimuli" / "people").mkdir()
    content = load_study(path).content
    assert content.faces == "stimuli/people"


def test_faces_outside_the_study_are_refused(tmp_path):
    path = changed(tmp_path / "study", ("faces: stimuli/faces.yaml", "faces: ../people"))
    (tmp_path / "people").mkdir()
    assert (
        refusal(path, "faces:") == "content: ../people lies outside the folder of the study; move it there."
    )


def test_a_study_may_name_no_faces(tmp_path):
    content = load_study(changed(tmp_path, ("  faces: stimuli/faces.yaml ", "  # "))).content
    assert content.faces is None


def test_an_unknown_layout_is_refused(tmp_path):
    path = changed(tmp_path, ("layout: post,", "layout: pots,"))
    sentence = refusal(path, "vignette:")
    assert sentence.startswith("vignette: there is no layout 'pots' (did you mean 'post'?); use post,")
    assert sentence.endswith("or a layout file next to the study file.")


def test_a_layout_file_beside_the_study_will_do(tmp_path):
    path = changed(tmp_path, ("layout: post,", "layout: card.yaml,"))
    assert "card.yaml" in refusal(path, "vignette:")
    (tmp_path / "card.yaml").write_text("width: 100", encoding="utf-8")
    vignette = load_study(path).vignette
    assert vignette.layout == "card.yaml"


def test_prompts_with_cues_need_a_level_of_anonymous_authors(tmp_path):
    path = changed(tmp_path, ("  posted: [2025", "  roles: {anonymous: anonymos}\n  posted: [2025"))
    assert refusal(path, "name_only") == (
        "name_only: cues 'name' need anonymous authors, and identity has no level 'anonymos' (did you mean "
        "'anonymous'?); name one of anonymous, black_male, black_female, white_male, white_female as "
        "content.roles.anonymous, or remove cues."
    )


def test_without_cues_no_level_needs_to_be_anonymous(tmp_path):
    changes = [(f"stimuli: images, cues: {cues}, ", "") for cues in ("name", "face")]
    path = changed(tmp_path, ("  posted: [2025", "  roles: {anonymous: nobody}\n  posted: [2025"), *changes)
    assert load_study(path).levels("identity")[0] == "anonymous"
