"""Templates of studies: what each is about, its files, and the commands that run it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conjury.inference.errors import InputError, did_you_mean, listed, unknown_name

README, SHARED = "README.md", "shared"
AS_IN_PAPER = "AS_IN_THE_PAPER.md"  # settings in which a study that ships differs from its paper
REAL = "runs/real"  # run of the edited study, which does not go into that of the template
COLLECT = ("collect", "study.yaml", "--judge", "mini")
CONTENTS = {  # what files of a template are, where they have them
    "items.csv": "the 20 items",
    "labels.csv": "the labels that count as correct",
    "people.csv": "judgments of {people}, made up",
    "truth.csv": "how simulated judges decide, for `--backend simulated` and `conjury simulate`",
    "label_truth.csv": "how simulated judges decide, for `--backend simulated` and `conjury simulate`",
}


@dataclass(frozen=True)
class StudyTemplate:
    """A study to edit."""

    # `shared` are files of several templates, by their place in the new folder; `options` further options of
    # `conjury fit`.

    name: str
    about: str
    shows: str
    table: str
    report: str
    shared: Mapping[str, str] = field(default_factory=dict)
    people: str = ""
    options: Sequence[str] = ()

    @property
    def commands(self) -> list[list[str]]:
        """The commands from the design to the report, each as the arguments of ``conjury``."""
        return [
            ["design", "study.yaml"],
            [*COLLECT, "--backend", "simulated"],
            self._fit(f"runs/{self.name}"),
            ["report", self.report],
        ]

    @property
    def further(self) -> list[list[str]]:
        """The commands that ask a real model about the edited study, in a folder of their own."""
        real = [*COLLECT, "--out", REAL]
        return [[*real, "--dry-run"], real, self._fit(REAL)]

    def _fit(self, run: str) -> list[str]:
        people = ["--data", "people.csv"] if self.people else []
        return ["fit", "study.yaml", "--data", f"{run}/{self.table}.parquet", *people, *self.options]


def templates() -> dict[str, StudyTemplate]:
    """Read the templates that ship, by name."""
    import yaml

    from conjury.inference.tables.files import TEMPLATES

    entries = yaml.safe_load((TEMPLATES / "templates.yaml").read_text(encoding="utf-8"))
    return {name: StudyTemplate(name, **facts) for name, facts in entries.items()}


def find_template(name: str) -> StudyTemplate:
    """Return the template called ``name``; InputError with the known names otherwise."""
    index = templates()
    if name not in index:
        raise unknown_name("template", name, index)
    return index[name]


def write_template(template: StudyTemplate, folder: Path) -> list[str]:
    """Write a template into a folder that is new or empty, whole or not at all; return its files."""
    _refuse_used(folder)
    return _write_files(_files(template), folder)


def _refuse_used(folder: Path) -> None:
    """Refuse a file, and a folder that has files."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a new or empty folder.")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty, and its files are not overwritten; give another folder.")


def copy_study(name: str, folder: Path) -> list[str]:
    """Copy a study that ships into a folder that is new or empty; return its files."""
    from conjury.inference.study import list_studies
    from conjury.inference.study.study_schema import SCHEMA_FILE, schema_text
    from conjury.inference.tables.files import STUDIES

    _refuse_used(folder)
    if name not in list_studies():
        names = list_studies()
        raise InputError(
            f"--like {name}: no such study ships{did_you_mean(name, names)}; use {listed(names)}."
        )
    source = STUDIES / name
    files = {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file()
    }
    files[SCHEMA_FILE] = schema_text().encode()
    files |= _differences_from_paper(name)
    return _write_files(files, folder)


def _differences_from_paper(name: str) -> dict[str, bytes]:
    """A page with the settings of the paper beside those of the study, one line each, where there are any."""
    import yaml

    from conjury.inference.tables.files import REPLICATIONS

    path = REPLICATIONS / f"{name}.yaml"
    if not path.is_file():
        return {}
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    lines = "\n".join(f"- {sentence}" for sentence in content.get("settings") or [])
    text = (
        f"# As in the paper\n\n{content['paper']}. Settings in which this study differs from it:\n\n{lines}\n"
    )
    return {AS_IN_PAPER: text.encode()}


def _write_files(files: Mapping[str, bytes], folder: Path) -> list[str]:
    """Write files into a new or empty folder, whole or not at all."""
    new = not folder.exists()
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except BaseException:
        for path in [folder] if new else list(folder.iterdir()):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        raise
    return list(files)


def _files(template: StudyTemplate) -> dict[str, bytes]:
    """Contents of the files of a template by their place in the new folder."""
    from conjury.inference.study.study_schema import SCHEMA_FILE, schema_text
    from conjury.inference.tables.files import TEMPLATES

    source = TEMPLATES / template.name
    paths = {
        path.relative_to(source).as_posix(): path for path in sorted(source.rglob("*")) if path.is_file()
    }
    places = paths | {place: TEMPLATES / SHARED / name for place, name in template.shared.items()}
    files = {name: path.read_bytes() for name, path in places.items()}
    files[SCHEMA_FILE] = schema_text().encode()
    files[README] = _readme(template, files).encode()
    return files


def _readme(template: StudyTemplate, files: Mapping[str, bytes]) -> str:
    import yaml
    from jinja2 import Environment, FileSystemLoader

    from conjury.inference.tables.files import TEMPLATES

    text = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    ).get_template(f"{README}.j2")
    contents = {name: words.format(people=template.people) for name, words in CONTENTS.items()}
    return text.render(
        title=yaml.safe_load(files["study.yaml"])["title"],
        about=template.about[0].upper() + template.about[1:],
        shows=template.shows,
        report=template.report,
        people=template.people,
        commands=[" ".join(["conjury", *command]) for command in template.commands],
        further=[" ".join(["conjury", *command]) for command in template.further],
        files={name: words for name, words in contents.items() if name in files},
    )
