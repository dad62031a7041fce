"""Everything that is wrong with a study is reported at once, and nothing else is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
from cases import cases

from conjury.analysis.pipeline.item_steps import plan_ratings
from conjury.analysis.pipeline.runner import FitOptions
from conjury.inference.collecting.validating import validate
from conjury.inference.errors import InputError
from conjury.inference.readers.judgments import load_judgments
from conjury.inference.study import list_studies, load_any_study
from conjury.inference.study.problems import examine
from conjury.inference.tables.files import TEMPLATES

PAIR = TEMPLATES / "shared" / "pair.j2"
LABEL = TEMPLATES / "shared" / "label.j2"


@pytest.fixture
def flats(tmp_path: Path) -> Path:
    """A conjoint that is right."""
    shutil.copytree(TEMPLATES / "minimal", tmp_path / "flats")
    shutil.copy(PAIR, tmp_path / "flats" / "prompts")
    return tmp_path / "flats"


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """A study of labels that is right."""
    shutil.copytree(TEMPLATES / "labels", tmp_path / "claims")
    shutil.copy(LABEL, tmp_path / "claims" / "prompts")
    return tmp_path / "claims"


def change(file: Path, *replacements: tuple[str, str]) -> None:
    text = file.read_text(encoding="utf-8")
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def said(folder: Path, *files: Path) -> list[str]:
    """Problems without the folder."""
    return [problem.replace(f"{folder}/", "") for problem in validate(folder, files).problems]


@pytest.mark.parametrize("study", list_studies())
def test_nothing_is_wrong_with_studies_that_ship(study):
    found = validate(study)
    assert (found.problems, found.is_complete) == ((), True)


@pytest.mark.long
def test_a_study_that_is_right_has_no_problems_and_names_whom_it_can_simulate(flats, claims):
    assert (said(flats), validate(flats).simulated) == ([], ("human", "mini"))
    assert said(claims, claims / "people.csv", claims / "labels.csv", claims / "items.csv") == []
    assert validate(claims).items == 20


def test_problems_of_all_kinds_are_reported_together_in_the_order_of_the_file(flats):
    change(
        flats / "study.yaml",
        ("\ntitle:", "\ntitel:"),
        ("large, label: 80 square metres", "large, label: 80 square metres, probability: 2"),
        ("user: prompts/pair.j2", "user: prompts/pairs.j2"),
        ("settings:", "setings:"),
        ("size + street + rent}", "size + stret + rent}"),
        ("draws: 500", "draws: 0"),
    )
    change(
        flats / "truth.csv",
        ("mini,model,plain,part_worth,size,large", "mini,model,plain,part_worth,sise,large"),
        ("mini,model,plain,noise", "mini,model,plain,noisse"),
    )
    places = [tuple(problem.split(": ")[:2]) for problem in said(flats)]
    assert places == [
        ("study.yaml:3", "titel"),
        ("study.yaml:12", "attributes.0.levels.1.probability"),
        ("study.yaml:29", "plain"),
        ("study.yaml:33", "judges.1.ask.setings"),
        ("study.yaml:35", "bootstrap.draws"),
        ("study.yaml:37", "amce"),
        ("truth.csv:8", "'sise' is unknown here; did you mean 'size'?"),
        ("truth.csv:13", "column 'parameter'"),
    ]
    meant = ("'title'?", "0.02?", "pairs.j2", "'settings'?", "says 0", "'street'?", "'size'?", "'noise'?")
    assert all(part in problem for part, problem in zip(meant, said(flats), strict=True))
    assert not validate(flats).is_complete


def test_where_a_needed_field_is_wrong_files_are_still_looked_for_and_the_rest_is_called_unchecked(flats):
    change(
        flats / "study.yaml", ("kind: model", "kind: robot"), ("pair.j2", "pears.j2"), ("question:", "quest:")
    )
    found = examine(flats)
    assert (found.study, found.is_complete) == (None, False)
    assert [problem.location for problem in found.problems] == [
        ("quest",),
        ("prompts", 0, "user"),
        ("judges", 1, "kind"),
    ]
    meant = ("'question'", "pears.j2", "'model'")
    assert all(part in problem.sentence for part, problem in zip(meant, found.problems, strict=True))


def test_fields_that_a_part_lacks_are_one_problem_with_one_remedy(flats):
    change(flats / "study.yaml", ("pairs: 400, respondents: 100, tasks: 8", "tasks: 8"))
    assert said(flats) == ["study.yaml:25: design.pairs, design.respondents are missing; add them."]


def test_a_wrong_field_of_an_alternative_is_named_by_its_place_in_the_file(claims):
    change(claims / "study.yaml", ("id: supported, label: Supported", "id: Supported, label: Supported"))
    (problem,) = said(claims)
    assert problem.startswith("study.yaml:24: response.labels.0.id: a name starts with a small letter")


def test_placeholders_without_a_value_are_reported_with_their_line_and_what_was_meant(flats):
    (flats / "prompts" / "pair.j2").write_text("{{ A }}\n{{ quesion }}\n{% for x in itms %}{% endfor %}\n")
    use = "a prompt of this study may use A, B, options, question, shown."
    assert said(flats) == [
        f"prompts/pair.j2:3: there is no value 'itms'; {use}",
        f"prompts/pair.j2:2: there is no value 'quesion' (did you mean 'question'?); {use}",
    ]
    (flats / "prompts" / "pair.j2").write_text("{% if extra is defined %}{{ extra }}{% endif %}{{ A }}\n")
    assert said(flats) == []


def test_a_template_is_filled_with_an_item_that_its_prompt_is_put_to(claims):
    condition = "{% if strata.claim_type != 'long' %}{{ 1 / 0 }}{% endif %}"
    (claims / "prompts" / "label.j2").write_text(condition + "{{ item }}", encoding="utf-8")
    assert len(said(claims)) == 1
    change(claims / "study.yaml", ("label: Check,", "label: Check, only: {claim_type: [long]},"))
    assert not any("label.j2" in problem for problem in said(claims))


def test_templates_that_are_none_and_wrong_expressions_are_reported(flats, claims):
    (flats / "prompts" / "pair.j2").write_text("{{ A }\n")
    (problem,) = said(flats)
    assert problem.startswith("prompts/pair.j2:1: ")
    change(claims / "prompts" / "label.j2", ("label.id", "label.name_of_it"))
    (problem,) = said(claims)
    assert "label.j2: the template cannot be filled" in problem
    assert "name_of_it" in problem


def test_items_labels_truth_and_pictures_that_do_not_fit_are_reported_with_row_or_column(claims):
    change(claims / "items.csv", ("Cars may cross the bridge.,short", "Cars may cross the bridge.,shrt"))
    change(claims / "items.csv", ("\ns02_short", "\n"))
    change(claims / "labels.csv", ("s02_short,support,supported", "s02_short,support,suported"))
    change(claims / "label_truth.csv", ("mini,model,accuracy,,short", "mini,model,acuracy,,short"))
    problems = said(claims)
    assert len(problems) == 4
    assert "items.csv: row 3 of column 'item_id' is empty" in problems.pop(0)
    assert "items.csv: row 1 of column 'claim_type' contains 'shrt' (did you mean 'short'?)" in problems[0]
    assert "labels.csv: 1 gold labels are none of the study's" in problems[1]
    assert "support 'suported' (1)" in problems[1]
    assert "'acuracy' is unknown here; did you mean 'accuracy'?" in problems[2]


def test_tables_of_people_that_do_not_fit_and_empty_gold_labels_are_reported(claims, flats):
    (problem,) = said(flats, claims / "people.csv")
    assert "people.csv" in problem
    change(claims / "people.csv", ("support,supported", "suport,supported"))
    (problem,) = said(claims, claims / "people.csv")
    assert "suport" in problem
    header = (claims / "labels.csv").read_text(encoding="utf-8").splitlines()[0]
    (claims / "labels.csv").write_text(f"{header}\n", encoding="utf-8")
    (problem,) = validate(claims / "study.yaml").problems
    assert "labels.csv: the file has no labels; add rows" in problem


def test_pictures_that_are_not_there_are_named(claims):
    rows = (claims / "items.csv").read_text(encoding="utf-8").splitlines()
    extra = ["modality,media", *["image,there.png"] * 2, *["image,gone.png"] * 18]
    text = "\n".join(f"{row},{more}" for row, more in zip(rows, extra, strict=True))
    (claims / "items.csv").write_text(text + "\n", encoding="utf-8")
    (claims / "there.png").write_bytes(b"")
    (problem,) = said(claims)
    assert problem.startswith("items.csv: column 'media': there is no file gone.png")


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    """A study of ratings that is right."""
    shutil.copytree(TEMPLATES / "ratings", tmp_path / "replies")
    shutil.copy(TEMPLATES / "shared" / "ratings.j2", tmp_path / "replies" / "prompts")
    return tmp_path / "replies"


def test_what_needs_parts_that_contradict_each_other_is_called_unchecked(flats, replies):
    change(flats / "study.yaml", ("{id: small, label: 40", "{id: large, label: 40"))
    change(replies / "study.yaml", ("  - id: writer", "  - id: written_by"))
    for folder, name in ((flats, "level 'large' is given twice;"), (replies, "assignment: 'writer' is")):
        assert name in said(folder)[0]
        assert not validate(folder).is_complete


@pytest.mark.parametrize("value", ["99", "3.5", "great", "0"])
def test_ratings_off_the_scale_are_reported_as_fit_refuses_them(replies, value):
    file = replies / "people.csv"
    assert said(replies, file) == []
    rows = file.read_text(encoding="utf-8").splitlines()
    cells = rows[3].split(",")
    rows[3] = ",".join([*cells[:4], value, *cells[5:]])
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    (problem,) = said(replies, file)
    study = load_any_study(replies)
    with pytest.raises(InputError) as refused:
        plan_ratings(study, load_judgments(file, study=study), None, FitOptions())
    assert problem.removeprefix("people.csv: ") == str(refused.value).removeprefix("judgments: ")
    place = f"{value!r} in row 3" if value == "great" else f"row 3 of column 'value' contains {value!r}"
    assert place.replace("'", "") in problem.replace("'", "")


def test_excluded_and_missing_ratings_may_have_any_value(replies):
    table = pd.read_csv(replies / "people.csv").assign(status="ok", excluded="")
    table.loc[0, ["value", "status"]] = 99, "refused"
    table.loc[1, ["value", "excluded"]] = 99, "too fast"
    table.to_csv(replies / "people.csv", index=False)
    assert said(replies, replies / "people.csv") == []


@pytest.mark.parametrize(("renamed", "lacking"), cases(__file__, "columns_that_lack"))
def test_columns_that_a_table_lacks_are_named_and_ratings_are_never_read_as_items(replies, renamed, lacking):
    people = pd.read_csv(replies / "people.csv").rename(columns=renamed)
    people.to_csv(replies / "people.csv", index=False)
    (problem,) = said(replies, replies / "people.csv")
    assert problem.startswith(f"people.csv: {lacking}")
    assert problem.endswith(f"(there are: {', '.join(people)}).")


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to nothing", "link to itself"])
def test_a_truth_table_that_is_no_file_is_no_missing_truth_table(kind, flats, claims):
    for path in (flats / "truth.csv", claims / "label_truth.csv"):
        path.unlink()
        if kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(path.name if kind == "link to itself" else "nowhere.csv")
        (problem,) = validate(path.parent / "study.yaml").problems
        assert path.name in problem
