"""All that is wrong with a study and the files beside it, found before anything is asked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..backends.endpoints import destination_of
from ..design.run_design import assign_raters, draw_design
from ..design.subjects import PresentedSubject, Subject, takes
from ..errors import ConjuryError, InputError, did_you_mean, listed, sentences_of
from ..readers.judged.gold_labels import read_labels
from ..readers.judgments import load_judgments, scales_of
from ..readers.prepare import load_choices
from ..readers.scale_checks import check_scales
from ..requests.building import Builder
from ..requests.media import find_medium
from ..requests.templates import Templates
from ..simulation.conjoint.judges import read_truth_table
from ..simulation.labels.label_truth import FILE as LABEL_TRUTH
from ..simulation.labels.label_truth import read_label_truth
from ..simulation.ratings.rating_draws import item_columns, read_items
from ..simulation.ratings.rating_truth_table import FILE as TRUTH
from ..simulation.ratings.rating_truth_table import read_rating_truth
from ..study.asking import Sampling
from ..study.models import ItemStudy, Study
from ..study.problems import examine
from ..study.study_fields import Prompt
from ..study.study_yaml import MarkedYaml
from ..tables.contained_paths import is_inside, require_inside
from ..tables.files import read_table
from ..tables.limits import require_file
from ..tables.schema import SYNONYMS
from .run_content import item_content, profile_content

ANY_MODEL = Sampling(model="model")  # by which prompts are filled
PICTURED = ("image", "video")
JUDGMENT_COLUMNS = ("judge_id", "item_id", "value")
OF_JUDGMENTS = {"judge_id", "judge_kind", "value", *SYNONYMS["judge_id"]}  # columns that items do not have
NAMED = 3  # missing files that a sentence names


@dataclass(frozen=True)
class ValidatedStudy:
    """What a study file is, and what is wrong with it and the files beside it."""

    # without the fields that are wrong; None where the rest is no study
    study: Study | ItemStudy | None
    # A sentence for each, with the file, the line where there is one, and the remedy
    problems: tuple[str, ...]
    is_complete: bool  # whether everything was checked
    # judges that can be simulated, because a truth table beside the study file names them
    simulated: tuple[str, ...] = ()
    # number of items; 0 in a conjoint
    items: int = 0


def validate(name_or_path: str | Path, files: Sequence[Path] = ()) -> ValidatedStudy:
    """Find all that is wrong with a study, its prompts, items, gold labels and truth, and with tables for it.

    Parameters
    ----------
    name_or_path : str or Path
        A study that ships, a folder, or the path of a study file.
    files : sequence of Path
        Tables of choices, judgments, items or gold labels, each read as the study asks.

    Raises
    ------
    InputError
        There is no such study file, or it is no YAML with fields.

    Examples
    --------
    >>> validate("moderation").simulated[:2]
    ('human', 'gpt4o')
    """
    examined = examine(name_or_path)
    marked, study = examined.marked, examined.study
    problems = [str(marked.error(problem.location, problem.sentence)) for problem in examined.problems]
    if study is None:
        return ValidatedStudy(None, tuple(problems), is_complete=False)
    subjects: list[Subject] = []
    truths: list[str] = []
    steps: list[Callable[[], None]] = []
    if examined.is_sound or isinstance(study, ItemStudy):
        steps.append(lambda: subjects.extend(_subjects(study)))
    if isinstance(study, ItemStudy) and not _is_in_folder(study, study.items):
        steps.clear()
    elif isinstance(study, ItemStudy):
        steps += [lambda: _check_items(study), lambda: _check_media(study)]
        if study.gold is not None and _is_in_folder(study, study.gold.file):
            gold = study.folder / study.gold.file
            steps.append(lambda: _check_labels(gold, study))
    if examined.is_sound:
        steps.append(lambda: truths.extend(_simulated_judges(study)))
    problems += _key_problems(study, marked)
    steps += [lambda file=file: _check_table(file, study) for file in files]  # type: ignore[misc]
    problems += [sentence for step in steps for sentence in _problems(step)]
    problems += _prompt_problems(study, subjects or [_example_subject(study)])
    items = len(subjects) if isinstance(study, ItemStudy) else 0
    return ValidatedStudy(study, tuple(dict.fromkeys(problems)), examined.is_complete, tuple(truths), items)


def _problems(step: Callable[[], None]) -> tuple[str, ...]:
    """Run a step; return what is wrong."""
    try:
        step()
    except ConjuryError as error:
        return sentences_of(error)
    except OSError as error:
        return (f"{error.filename or 'A file'} cannot be used: {error.strerror or error}.",)
    return ()


def _is_in_folder(study: Study | ItemStudy, name: str) -> bool:
    """Whether a file is in the folder of a study."""
    path = study.folder / name
    return is_inside(path, study.folder) and path.is_file()


def _key_problems(study: Study | ItemStudy, marked: MarkedYaml) -> Iterator[str]:
    """Report judges whose key may not go to their server, whatever the user decides."""
    for number, judge in enumerate(study.judges):
        if judge.ask is None:
            continue
        at = ("judges", number, "ask", "base_url")
        try:
            destination = destination_of(judge.ask)
        except ConjuryError as error:
            yield str(marked.error(at, f"Judge '{judge.id}': {error}"))
            continue
        if destination is not None and destination.final:
            yield str(marked.error(at, f"Judge '{judge.id}': {destination.problem}"))


def _read(reader: Callable[..., object], *arguments: object) -> None:
    reader(*arguments)


def _subjects(study: Study | ItemStudy) -> Iterator[Subject]:
    """Yield the items of a study, or the first pairs of a conjoint."""
    if isinstance(study, ItemStudy):
        yield from item_content(study, None, images=False, assigned=None, occasion=1).subjects()
        return
    design = draw_design(study, 1, 0.0, study.collect.seed)
    yield from profile_content(
        study, design, None, images=False, pictures=None, which="models", occasion=1
    ).subjects()


def _example_subject(study: Study | ItemStudy) -> Subject:
    """A subject by which prompts are filled where there is none to be read."""
    if isinstance(study, Study):
        return Subject("pair", (PresentedSubject("A", {"text": "A"}), PresentedSubject("B", {"text": "B"})))
    strata = {name: next(iter(levels)) for name, levels in study.level_labels.items()}
    return Subject("item", (PresentedSubject("", {"text": "Text"}),), strata=strata)


def _subject_for_prompt(subject: Subject, prompt: Prompt) -> Subject:
    """The subject as one that a prompt is put to."""
    levels = {column: values[0] for column, values in prompt.only.items() if values}
    return replace(subject, strata={**subject.strata, **levels})


def _check_items(study: ItemStudy) -> None:
    items = read_items(study)
    if study.assignment is not None:
        assign_raters(items, study.assignment, None, study.collect.seed)


def _check_labels(file: Path, study: ItemStudy) -> None:
    notes: list[str] = []
    if read_labels(file, study, notes).empty:
        raise InputError(f"{file}: the file has no labels; add rows, or remove 'gold' from the study file.")
    if notes:
        raise InputError(f"{notes[0]}; correct them, or add them to the labels of the study file.")


def _check_media(study: ItemStudy) -> None:
    items = read_table(study.file(study.items), "items")
    if "modality" not in items or "media" not in items:
        return
    pictured = items["modality"].isin(PICTURED) & items["media"].notna()
    names = [str(name) for name in items["media"][pictured] if "://" not in str(name)]
    lacking = [name for name in names if not find_medium(name, study.folder, "file").is_file()]
    if lacking:
        raise InputError(
            f"{study.folder / study.items}: column 'media': there is no file {listed(lacking, NAMED)} in the "
            "folder of the study; add the missing files or correct the paths."
        )


def _simulated_judges(study: Study | ItemStudy) -> list[str]:
    """Judges of the truth table of a study, which is read and checked; none where there is no table."""
    if isinstance(study, Study):
        path = study.folder / TRUTH
        raters = read_truth_table(path, study) if _has_file(path) else []
        return list(dict.fromkeys(rater.judge for rater in raters))
    judges: list[str] = []
    if study.scales and _has_file(study.folder / TRUTH):
        judges += read_rating_truth(study.folder / TRUTH, study).judges
    if study.label_sets and _has_file(study.folder / LABEL_TRUTH):
        judges += read_label_truth(study.folder / LABEL_TRUTH, study).judges
    return list(dict.fromkeys(judges))


def _has_file(path: Path) -> bool:
    """Whether there is a file of that name; a folder, a pipe or a link to nothing or outside is refused."""
    if os.path.lexists(path):
        require_file(require_inside(path, path.parent))
    return path.is_file()


def _check_table(file: Path, study: Study | ItemStudy) -> None:
    """Read a table as the commands do, by what its columns show it to be."""
    if isinstance(study, Study):
        load_choices(study, file)
        return
    columns = [str(name) for name in read_table(file)]
    if "label_set" in columns:
        _check_labels(file, study)
    elif not OF_JUDGMENTS.isdisjoint(name.casefold() for name in columns):
        _require_columns(file, columns, {"judgments": JUDGMENT_COLUMNS})
        check_scales(load_judgments(file, study=study), scales_of(study), str(file))
    elif set(item_columns(study)) <= set(columns):
        read_table(file, "items")
    else:
        items, labels = item_columns(study), ("item_id", "label_set", "label")
        _require_columns(
            file, columns, {"judgments": JUDGMENT_COLUMNS, "items": items, "gold labels": labels}
        )


def _require_columns(file: Path, columns: Sequence[str], kinds: Mapping[str, Sequence[str]]) -> None:
    """Refuse a table that lacks columns of each kind of table that it may be."""
    missing = {kind: [name for name in needed if name not in columns] for kind, needed in kinds.items()}
    if all(missing.values()):
        text = " or ".join(f"for {kind} ({listed(names)})" for kind, names in missing.items())
        raise InputError(
            f"{file}: columns are missing {text}; add or rename them (there are: {listed(columns)})."
        )


def _prompt_problems(study: Study | ItemStudy, subjects: Sequence[Subject]) -> Iterator[str]:
    """Report templates that are none, and those that cannot be filled for the first subject put to them."""
    templates = Templates(study.folder)
    for prompt in study.prompts:
        files = [name for name in (prompt.template, prompt.user) if name is not None]
        if not all(_is_in_folder(study, name) for name in files):
            continue
        try:
            for name in files:
                templates.names(name)
            builder = Builder(study, "judge", ANY_MODEL, [prompt], lambda stimulus, takes: [])
            subject = next((candidate for candidate in subjects if takes(prompt, candidate.strata)), None)
            yield from _unfilled_placeholders(
                templates, builder, prompt, subject or _subject_for_prompt(subjects[0], prompt)
            )
        except ConjuryError as error:
            yield str(error)


def _unfilled_placeholders(
    templates: Templates, builder: Builder, prompt: Prompt, subject: Subject
) -> Iterator[str]:
    """Report placeholders of a prompt without a value, where it cannot be filled."""
    problems = _problems(lambda: _read(list, builder.requests([subject])))
    if not problems:
        return
    placeholders: list[str] = []
    with suppress(ConjuryError, IndexError):
        placeholders = sorted(builder.values(subject, prompt))
    unknown = [
        (file, name)
        for file in (prompt.template, prompt.user)
        if file is not None
        for name in sorted(templates.names(file) - set(placeholders))
    ]
    if not placeholders or not unknown:
        yield from problems
        return
    for file, name in unknown:
        yield (
            f"{_line_of(templates.folder / file, name)}: there is no value '{name}'"
            f"{did_you_mean(name, placeholders)}; a prompt of this study may use {listed(placeholders)}."
        )


def _line_of(path: Path, name: str) -> str:
    """A template with the line on which a name is first used."""
    pattern = re.compile(rf"[{{(\s,|]{re.escape(name)}\b")
    lines = path.read_text(encoding="utf-8").splitlines()
    line = next((n for n, text in enumerate(lines, 1) if "{" in text and pattern.search(text)), None)
    return str(path) if line is None else f"{path}:{line}"
