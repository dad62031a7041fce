"""Files of stimuli that are malformed or do not fit the study are refused by file, line and remedy."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cases import cases

from conjury.inference.design.stimuli import load_posts, profile_values
from conjury.inference.design.stimuli.wording import fill, text_problem
from conjury.inference.errors import InputError
from conjury.inference.study import load_study
from conjury.inference.study.asking import Content

STUDY = load_study("moderation")
STIMULI = STUDY.folder / "stimuli"
LINES = (STIMULI / "texts.yaml").read_text(encoding="utf-8").splitlines()
TEXTS = [line.strip() for line in LINES if line.strip().startswith("- text:")]


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(STIMULI, tmp_path / "stimuli")
    return tmp_path


def replace(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / "stimuli" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def loading_says(folder: Path, values: Mapping[str, list[str]] | None = None, **content: Any) -> str:
    changed = Content.model_validate(STUDY.content.model_dump() | content)
    with pytest.raises(InputError) as refused:
        load_posts(folder, changed, values or profile_values(STUDY))
    sentence = str(refused.value).replace(str(folder / "stimuli") + "/", "")
    assert "\n" not in sentence
    assert sentence[-1] in ".?"
    return sentence


def line_of(file: str, words: str) -> int:
    lines = (STIMULI / file).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if words in line)


@pytest.mark.parametrize(("file", "old", "new", "at", "says"), cases(__file__, "files"))
def test_a_file_with_a_fault_is_refused_by_line(folder, file, old, new, at, says):
    replace(folder, file, old, new)
    sentence = loading_says(folder)
    assert says in sentence
    assert sentence.startswith(f"{file}:" if at is None else f"{file}:{line_of(file, at)}: "), sentence
    if old == TEXTS[7]:
        assert f"is already on line {line_of(file, TEXTS[3])}" in sentence


@pytest.mark.parametrize("file", ["texts.yaml", "people.yaml", "insults.csv"])
def test_a_file_that_is_not_there_is_refused(folder, file):
    (folder / "stimuli" / file).unlink()
    assert "check the path" in loading_says(folder)


@pytest.mark.parametrize(("changed", "says"), cases(__file__, "sections"))
def test_a_content_section_at_odds_with_the_study_is_refused(changed, says):
    assert says in loading_says(STUDY.folder, **changed)


def test_a_study_that_wants_another_number_of_texts_is_refused():
    values = profile_values(STUDY)
    values["text"] = [name for name in values["text"] if name != "work_09"]
    assert "work has 10 texts and the study asks for 9; remove 1." in loading_says(STUDY.folder, values)


@pytest.mark.parametrize(("text", "word", "filled"), cases(__file__, "fillings"))
def test_articles_and_capitals_follow_the_word_put_in(text, word, filled):
    assert text_problem(text) is None
    insult = None if word is None else dict.fromkeys(("singular", "plural", "adjective"), word)
    assert fill(text, insult, None) == filled


@pytest.mark.parametrize(
    ("name", "account"), [("Björk ✨", "björk"), ("O'Neil 🌟", "oneil"), ("नमस्ते", "नमस्ते"), ("محمد", "محمد")]
)
def test_names_in_any_script_and_with_emoji_have_accounts(folder, name, account):
    replace(folder, "people.yaml", "Jake Larson", name)
    authors = load_posts(folder, STUDY.content, profile_values(STUDY)).people.authors.values()
    (stems,) = (author.stems for author in authors if author.name == name)
    assert (account, "") in stems
