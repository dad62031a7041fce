"""Study files of conjoints: names, levels, costs and content; faults are refused by line with a remedy."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from cases import cases

from conjury.inference.design.profiles import attribute_cells
from conjury.inference.errors import InputError
from conjury.inference.study import list_studies, load_study
from conjury.inference.tables.files import PUBLISHED, STUDIES

SOURCE = STUDIES / "moderation" / "study.yaml"
TEXT = SOURCE.read_text(encoding="utf-8")
ANONYMOUS = ("  posted: [2025", "  roles: {anonymous: %s}\n  posted: [2025")


def changed(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the moderation study with some texts replaced, each once."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    folder.mkdir(exist_ok=True)
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    for part in ("prompts", "stimuli"):
        shutil.copytree(SOURCE.parent / part, folder / part)
    for name in ("consent.md", "instructions.md", "policy.md", "debriefing.md"):
        shutil.copy(SOURCE.parent / name, folder / name)
    return folder / "study.yaml"


def test_studies_load_by_name_folder_and_file_and_commands_name_them_so(moderation, tmp_path):
    assert {"moderation", "oogiri", "oogiri_generation"} <= set(list_studies())
    assert moderation == load_study(SOURCE.parent) == load_study(SOURCE)
    assert moderation.folder == SOURCE.parent
    assert {moderation.argument, load_study(SOURCE.parent).argument} == {"moderation"}
    path = changed(tmp_path, ("name: moderation", "name: towns"))
    assert load_study(path).argument == load_study(tmp_path).argument == "study.yaml"
    assert load_study(path.rename(tmp_path / "my towns.yaml")).argument == "my towns.yaml"
    with pytest.raises(InputError, match=r"'moderatoin' \(did you mean moderation\?\)"):
        load_study("moderatoin")


def test_levels_labels_and_costs_are_those_of_the_file_in_its_order(moderation):
    assert moderation.levels("identity")[0] == "anonymous"
    assert moderation.levels("speech") == ["benign", "slur"]
    names = ["slur", "identity", "topic", "reply", "curse", "engagement", "speech", "race", "gender"]
    assert list(moderation.feature_labels) == names
    assert moderation.level_labels["slur"]["reclaimed"] == "Reclaimed slur"
    assert list(moderation.prompt_labels)[:2] == ["baseline", "context_aware"]
    assert set(pd.read_csv(PUBLISHED / "moderation.csv")["judge"]) <= set(moderation.judge_labels)
    twins = moderation.judges[0].model_copy(update={"id": "twin"}), *moderation.judges
    assert "Human panel (twin)" in moderation.model_copy(update={"judges": twins}).judge_labels.values()
    costs = moderation.costs
    assert (costs.currency, costs.per_respondent) == ("USD", 4.0)
    assert costs.per_pair("gpt4o") == pytest.approx(75.5 / 30_000)
    assert costs.per_pair("gemma3_27b") is None
    assert costs.judges[0].note == "batch prices of October 2024"


def test_an_analysis_selects_its_rows_and_drops_the_excluded_levels(moderation):
    kept = moderation.analysis("amce_slur").select(attribute_cells(moderation))
    assert len(kept) == 1800
    assert "none" not in kept["slur"].cat.categories
    with pytest.raises(InputError, match="did you mean 'amce_speech'"):
        moderation.analysis("amce_speach")


def test_costs_faces_and_anonymous_levels_may_be_absent_and_content_be_folders_and_files(tmp_path):
    costs = TEXT[TEXT.index("costs:") : TEXT.index("analyses:")]
    cues = [(f"stimuli: images, cues: {cue}, ", "") for cue in ("name", "face")]
    nobody = (ANONYMOUS[0], ANONYMOUS[1] % "nobody")
    faces = ("  faces: stimuli/faces.yaml ", "  # ")
    less = load_study(changed(tmp_path / "less", (costs, ""), faces, nobody, *cues))
    assert less.costs is None
    assert less.content.faces is None
    assert less.levels("identity")[0] == "anonymous"
    folder = tmp_path / "own"
    (folder / "people").mkdir(parents=True)
    (folder / "card.yaml").write_text("width: 100", encoding="utf-8")
    one = "costs:\n  currency: EUR\n  judges: [{judge: gpt4o, cost: 1/4}]\n\n"
    layout = ("layout: post,", "layout: card.yaml,")
    own = load_study(changed(folder, (costs, one), ("stimuli/faces.yaml", "people"), layout))
    assert (own.costs.per_pair("gpt4o"), own.costs.per_respondent) == (0.25, None)  # the cost of one pair
    assert own.content.faces == "people"
    assert own.vignette.layout == "card.yaml"


@pytest.mark.parametrize(("old", "new", "remedy"), cases(__file__, "bad"))
def test_a_bad_study_file_is_refused_with_file_line_and_remedy(tmp_path, old, new, remedy):
    path = changed(tmp_path, (old, new))
    pattern = remedy if ".*" in remedy else re.escape(remedy)
    with pytest.raises(InputError, match=pattern) as caught:
        load_study(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message[-1] in ".?"
    first = TEXT[: TEXT.index(old)].count("\n") + 1
    assert first <= line_of(message, path) <= first + new.strip().count("\n")


def line_of(message: str, path: Path) -> int:
    return int(message.removeprefix(f"{path}:").split(":")[0])


def test_prompts_with_cues_need_a_level_of_anonymous_authors(tmp_path):
    path = changed(tmp_path, (ANONYMOUS[0], ANONYMOUS[1] % "anonymos"))
    with pytest.raises(InputError) as refused:
        load_study(path)
    message = str(refused.value)
    assert "name_only" in path.read_text(encoding="utf-8").splitlines()[line_of(message, path) - 1]
    assert message.endswith(
        ": name_only: cues 'name' need anonymous authors, and identity has no level 'anonymos' (did you mean "
        "'anonymous'?); name one of anonymous, black_male, black_female, white_male, white_female as "
        "content.roles.anonymous, or remove cues."
    )


@pytest.mark.parametrize(("old", "new", "problem"), cases(__file__, "missing"))
def test_what_the_file_lacks_is_named(tmp_path, old, new, problem):
    with pytest.raises(InputError, match=problem):
        load_study(changed(tmp_path, (old, new)))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"- a\n- b\n", "start with the name"),
        (b"name: a\ntitle: \xff\xfe", "study.yaml:2: the file is not UTF-8"),
        (b"name: a\x00b", "not valid YAML"),
        (b"name: &a [*a]\n", "study.yaml:1: "),
    ],
)
def test_a_file_that_is_no_study_is_refused(tmp_path, content, sentence):
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        load_study(path)
