import shutil
from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.study import list_studies, load_study
from conjury.inference.tables.files import PUBLISHED, STUDIES

SOURCE = STUDIES / "moderation" / "study.yaml"


def broken(folder: Path, old: str, new: str) -> tuple[Path, int]:
    """Write the moderation study with one text replaced; return the path and the line of the change."""
    text = SOURCE.read_text(encoding="utf-8")
    assert old in text
    path = folder / "study.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    for part in ("prompts", "stimuli"):
        shutil.copytree(SOURCE.parent / part, folder / part)
    return path, text[: text.index(old)].count("\n") + 1


def test_the_moderation_study_ships_and_loads_by_name_folder_and_file():
    assert {"moderation", "oogiri", "oogiri_generation"} <= set(list_studies())
    studies = [load_study(source) for source in ("moderation", SOURCE.parent, SOURCE)]
    assert studies[0] == studies[1] == studies[2]
    assert studies[0].folder == SOURCE.parent
    assert {study.argument for study in studies} == {"moderation"}


def test_commands_name_a_study_that_does_not_ship_by_its_file(tmp_path):
    path, _ = broken(tmp_path, "name: moderation", "name: towns")
    assert load_study(path).argument == load_study(tmp_path).argument == "study.yaml"
    assert load_study(path.rename(tmp_path / "my towns.yaml")).argument == "my towns.yaml"


def test_levels_and_labels_follow_the_order_of_the_file():
    study = load_study("moderation")
    assert study.levels("identity")[0] == "anonymous"
    assert study.levels("speech") == ["benign", "slur"]
    assert list(study.feature_labels) == [
        *("slur", "identity", "topic", "reply", "curse", "engagement"),
        "speech",
    ]
    assert study.level_labels["slur"]["reclaimed"] == "Reclaimed slur"
    assert study.judge_labels["gemini_2_5_flash"] == "Gemini 2.5 Flash"
    assert list(study.prompt_labels) == [
        *("baseline", "context_aware", "context_free"),
        *("name_only", "face_only"),
    ]


def test_every_judge_of_the_printed_figure_has_a_label():
    printed = pd.read_csv(PUBLISHED / "moderation.csv")["judge"]
    assert set(printed) <= set(load_study("moderation").judge_labels)


def test_an_analysis_selects_its_rows_and_drops_the_excluded_levels():
    from conjury.inference.design.profiles import attribute_cells

    study = load_study("moderation")
    kept = study.analysis("amce_slur").select(attribute_cells(study))
    assert len(kept) == 1800
    assert "none" not in kept["slur"].cat.categories


def test_an_unknown_analysis_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match="did you mean 'amce_speech'"):
        load_study("moderation").analysis("amce_speach")


def test_an_unknown_study_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"'moderatoin' \(did you mean moderation\?\)"):
        load_study("moderatoin")


BAD = {
    "syntax": ("outcome: chosen\n", "outcome: [chosen\n", "not valid YAML"),
    "unknown field": ("title: Which", "titel: Which", "did you mean 'title'?"),
    "unknown nested field": ("    verb: mm\n", "    verbe: mm\n", "did you mean 'verb'?"),
    "wrong type": (
        "pairs: 30000",
        "pairs: many",
        "pairs: a whole number belongs here, but the file says 'many'; correct it",
    ),
    "wrong choice": ("kind: conjoint", "kind: vignette", "'conjoint'"),
    "negative number": ("tasks: 15", "tasks: -15", "a number of more than 0 belongs here"),
    "not a fraction": (
        "Generic insult, probability: 1/7",
        "Generic insult, probability: 1/0",
        "a number belongs here",
    ),
    "key given twice": ("kind: conjoint\n", "name: other\n", "'name' was already given on line 3"),
    "level given twice": (
        "{id: agree,",
        "{id: no_reply,",
        "level 'no_reply' is given twice; rename or remove",
    ),
    "attribute given twice": ("- id: curse\n", "- id: reply\n", "'reply' is given twice; rename or remove"),
    "reserved name": ("- id: curse\n", "- id: status\n", "another column of choices; choose another id"),
    "formula": ("chosen ~ speech +", "chosen ~ speach +", "did you mean 'speech'?"),
    "formula without sides": ("formula: chosen ~ speech +", "formula: speech +", "is not a formula; write"),
    "formula with another outcome": (
        "formula: chosen ~ speech",
        "formula: picked ~ speech",
        "make them equal",
    ),
    "formula with both": ("~ speech + identity", "~ speech + slur", "follows from slur; keep only one"),
    "by inside the formula": ("by: [identity]", "by: [topic]", "remove one of them"),
    "name of a table": ("name: frequencies", "name: recovery", "that every fit may write"),
    "by unknown": ("by: [identity]", "by: [identities]", "did you mean 'identity'?"),
    "excluded level": (
        "{slur: [none]}",
        "{slur: [nothing]}",
        "'nothing' is unknown here; use one of generic",
    ),
    "too much excluded": ("{slur: [none]}", "{curse: [curse]}", "fewer than two levels of curse are left"),
    "derived level": ("covers: [none]", "covers: [benign]", "'benign' is unknown here; use one of"),
    "derived source": ("source: slur", "source: slurs", "did you mean 'slur'?"),
    "stimulus": ("attribute: topic", "attribute: topics", "did you mean 'topic'?"),
    "template": ("prompts/context_free.j2", "prompts/none.j2", "there is no file prompts/none.j2"),
    "prompt alias": ("aliases: [uniform]", "aliases: [baseline]", "'baseline' is given twice"),
    "cluster": ("human: judge_id", "human: judge", "did you mean 'judge_id'?"),
}


@pytest.mark.parametrize(("old", "new", "remedy"), BAD.values(), ids=BAD)
def test_a_bad_study_file_is_refused_with_file_line_and_remedy(tmp_path, old, new, remedy):
    path, line = broken(tmp_path, old, new)
    with pytest.raises(InputError, match=remedy.replace("?", r"\?")) as caught:
        load_study(path)
    message = str(caught.value)
    assert "\n" not in message
    found = int(message.removeprefix(f"{path}:").split(":")[0])
    lines_until_the_syntax_breaks = 2 if "YAML" in remedy else 0
    assert found == line + lines_until_the_syntax_breaks


def test_probabilities_that_do_not_sum_to_one_are_refused_at_the_levels(tmp_path):
    path, line = broken(tmp_path, "No insult, probability: 1/7", "No insult, probability: 2/7")
    with pytest.raises(
        InputError, match=rf"study.yaml:{line - 7}: slur: .* sum to 1.14286; they must sum to 1"
    ):
        load_study(path)


def test_probabilities_are_given_for_all_levels_or_none(tmp_path):
    path, _ = broken(tmp_path, "No insult, probability: 1/7", "No insult")
    with pytest.raises(InputError, match="only 6 of 7 levels have a probability"):
        load_study(path)


def test_a_source_level_that_no_derived_level_covers_is_refused(tmp_path):
    path, _ = broken(tmp_path, "reclaimed, racism]", "reclaimed]")
    with pytest.raises(
        InputError, match="'racism' of slur is covered 0 times; cover each level exactly once"
    ):
        load_study(path)


def test_a_missing_field_is_named(tmp_path):
    path = tmp_path / "study.yaml"
    rows = SOURCE.read_text("utf-8").splitlines()
    path.write_text("\n".join(row for row in rows if not row.startswith("title:")), "utf-8")
    with pytest.raises(InputError, match="title is missing; add it"):
        load_study(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"- a\n- b\n", "start with the name"),
        (b"name: \xff\xfe", "not UTF-8"),
        (b"name: a\x00b", "not valid YAML"),
        (b"name: &a [*a]\n", "study.yaml:1: "),
    ],
)
def test_a_file_that_is_no_study_is_refused(tmp_path, content, sentence):
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        load_study(path)


def test_cluster_columns_may_be_a_list_and_each_must_exist(tmp_path):
    path, line = broken(tmp_path, "model: pair_id}", "model: [pair_id, text, usr]}")
    with pytest.raises(InputError, match=rf"study.yaml:{line}: .*'usr'.*'user'"):
        load_study(path)
