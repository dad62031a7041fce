"""Files of a study that are links to files outside: nothing of these is shown, sent or asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.studies import change_study, towns, write_study

from conjury.inference.backends.batches.shards import open_atomic
from conjury.inference.errors import InputError
from conjury.inference.requests.templates import Templates
from conjury.inference.tables import contained_paths
from conjury.inference.tables.writing import append_line

SECRET = "quince-SENTINEL-0123456789abcdef"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of somebody's with a secret in it, in several forms."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("secret.txt", "strict.j2", "study.yaml"):
        (folder / name).write_text(f"a: {SECRET}\n", encoding="utf-8")
    return folder


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path / "towns", towns())


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


SECRET_FILE = "../outside/secret.txt"
INCLUDE = "{% include 's.j2' %}"
# links in the folder of the study, and templates: file and text
PLACES: dict[str, tuple[dict[str, str], str, str]] = {
    "linked include": ({"s.j2": SECRET_FILE}, "plain.j2", INCLUDE),
    "linked folder": ({"parts": "../outside"}, "plain.j2", "{% include 'parts/secret.txt' %}"),
    "link of a link": ({"s.j2": "two.j2", "two.j2": SECRET_FILE}, "plain.j2", INCLUDE),
    "include of an include": (
        {"s.j2": SECRET_FILE},
        "rules.j2",
        "{% include ['absent.j2', 's.j2'] ignore missing %}",
    ),
    "extended": ({"s.j2": SECRET_FILE}, "plain.j2", "{% extends 's.j2' %}"),
    "imported": ({"s.j2": SECRET_FILE}, "plain.j2", "{% import 's.j2' as s %}{{ s }}"),
    "template": ({"linked.j2": SECRET_FILE}, "linked.j2", ""),
    "folder of templates": ({"prompts": "../outside"}, "prompts/strict.j2", ""),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_link_out_of_the_study_is_refused_and_nothing_of_its_file_is_said_or_written(
    place: str, study: Path, outside: Path, here: Callable[..., Any], tmp_path: Path
) -> None:
    links, template, text = PLACES[place]
    for name, target in links.items():
        (study / name).symlink_to(Path(target))
    if text:
        write(study / template, text)
    else:
        change_study(study, lambda content: content["prompts"][0].update(template=template))
    for words in (
        f"validate {study}",
        f"collect {study} --judge judge --pairs 2 --out run --export requests.jsonl",
        f"collect {study} --judge judge --pairs 2 --out run --dry-run",
    ):
        code, out, err = here(words)
        assert code == 2, words
        assert "folder of the study" in err
        assert SECRET not in out + err
    written = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_relative_to(outside)]
    assert [path for path in written if not path.is_symlink() and SECRET.encode() in path.read_bytes()] == []


def test_a_link_within_the_study_is_followed(study: Path, ran: Callable[..., str]) -> None:
    (study / "parts").mkdir()
    write(study / "parts" / "one.j2", "Be brief.")
    (study / "short").symlink_to(Path("parts"))
    write(study / "plain.j2", "{% include 'short/one.j2' %}")
    ran("collect", study, "--judge judge --pairs 2 --prompt plain --out run --export requests.jsonl")
    assert Path("requests.jsonl").read_text(encoding="utf-8").count("Be brief.") == 2


@pytest.mark.parametrize("table", ["truth.csv", "items.csv"])
def test_tables_beside_the_study_file_are_no_links_either(
    table: str, tmp_path: Path, outside: Path, here: Callable[..., Any]
) -> None:
    assert here("init labels st").code == 0
    name = {"truth.csv": "label_truth.csv"}.get(table, table)
    (tmp_path / "st" / name).unlink()
    (tmp_path / "st" / name).symlink_to(outside / "secret.txt")
    for words in ("validate st", "collect st --judge mini --backend simulated"):
        code, out, err = here(words)
        assert code == 2, words
        assert "folder of the study" in err
        assert SECRET not in out + err


@pytest.mark.parametrize("words", ["paper checklist st", "perturb st", "paper preregister st"])
def test_papers_and_copies_read_the_folder_of_the_study_alone(
    words: str, tmp_path: Path, outside: Path, here: Callable[..., Any]
) -> None:
    assert here("init labels st").code == 0
    template = next((tmp_path / "st" / "prompts").glob("label*.j2"))
    (tmp_path / "st" / "prompts" / "s.j2").symlink_to(outside / "secret.txt")
    write(template, "{% include 's.j2' %}")
    if not words.startswith("checklist"):
        linked = tmp_path / "st" / "items.csv" if words.startswith("perturb") else template
        linked.unlink()
        linked.symlink_to(outside / "secret.txt")
    code, out, err = here(words)
    assert code == 2
    assert "folder of the study" in err
    written = [path for path in tmp_path.glob("*.*") if path.is_file()]
    assert SECRET not in out + err + "".join(path.read_text(encoding="utf-8") for path in written)


def test_a_template_of_a_checklist_includes_what_the_prompt_includes(
    study: Path, ran: Callable[..., str]
) -> None:
    (study / "parts").mkdir()
    write(study / "parts" / "all.j2", "{% include 'one.j2' %}")
    write(study / "parts" / "one.j2", "Be brief.")
    change_study(study, lambda content: content["prompts"][0].update(template="parts/all.j2"))
    ran("paper", "checklist", study)
    assert "Be brief." in Path("checklist.md").read_text(encoding="utf-8")


def test_a_lock_or_a_draft_that_is_a_link_is_not_written_through(
    study: Path, outside: Path, here: Callable[..., Any], tmp_path: Path
) -> None:
    precious = outside / "secret.txt"
    before = precious.read_bytes()
    for name in ("ledger.lock", "x.jsonl.part", "labels.jsonl"):
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / name).symlink_to(precious)
    code, _, err = here(f"collect {study} --judge judge --pairs 2 --backend simulated --out run")
    assert code == 2
    assert "ledger.lock: this is a link" in err
    with pytest.raises(InputError, match="is a link"), open_atomic(tmp_path / "run" / "x.jsonl"):
        pass
    with pytest.raises(InputError, match="is a link"):
        append_line(tmp_path / "run" / "labels.jsonl", b"{}")
    assert precious.read_bytes() == before


def test_a_link_that_takes_the_place_of_a_template_meanwhile_is_not_followed(
    study: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, parts = study / "parts" / "strict.j2", study / "parts"
    parts.mkdir()
    write(file, "Fine.")
    opened = contained_paths._open

    def swapped(what: Path, target: Path) -> None:
        def open_(*place: Any) -> int:
            what.rename(study / "aside")
            what.symlink_to(target)
            return opened(*place)

        monkeypatch.setattr(contained_paths, "_open", open_)

    for what, target in ((file, outside / "strict.j2"), (parts, outside)):
        swapped(what, target)
        with pytest.raises(InputError, match="leads out of the folder of the study"):
            Templates(study).render("parts/strict.j2", {})
        what.unlink()
        (study / "aside").rename(what)
