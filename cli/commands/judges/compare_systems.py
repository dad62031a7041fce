"""The command ``compare-systems``: which system is better, by a biased judge and a few labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, counted, listed

from ...options import Alpha, grouped, split_names
from ...reading_options import TableOptions
from .judge import By, Labelled, Output, finish, labels_statement, run_names

if TYPE_CHECKING:
    from conjury.analysis.raters.systems import MapRequest
    from conjury.analysis.raters.validation.judging import Validation
    from conjury.inference.readers.judged import Judged

SYSTEM, NONE = "system", "none"


@dataclass(frozen=True)
class SystemColumns:
    """Which columns are compared."""

    system: Annotated[
        str | None,
        typer.Option("--system", help="Column of the systems in one file; of several files the names."),
    ] = None
    judge: Annotated[
        str | None,
        typer.Option("--judge", help="Column of the judge, or COL,COL of several; otherwise guessed."),
    ] = None
    human: Annotated[
        list[str] | None,
        typer.Option("--human", help="Columns of people, COL[,COL...]; otherwise guessed."),
    ] = None
    labels: Annotated[
        Path | None,
        typer.Option(help="Second file with the labels, joined by the columns of prompts and systems."),
    ] = None
    by: By = None
    labelled: Labelled = None
    mix: Annotated[
        str | None,
        typer.Option(help="Shares of the segments of --by to which all is weighted, as en=0.7,de=0.3."),
    ] = None
    names: Annotated[str | None, typer.Option(help="Names of the systems of several files, as old,new.")] = (
        None
    )
    positive: Annotated[
        str | None, typer.Option(help="The class whose share is compared; by default the second of two.")
    ] = None


@dataclass(frozen=True)
class SystemTests:
    """What is tested."""

    margin: Annotated[
        float | None,
        typer.Option(help="Largest difference that counts as equivalent."),
    ] = None
    width: Annotated[float | None, typer.Option(help="Width of the interval that is wanted.")] = None
    calibration: Annotated[
        bool, typer.Option(help="Use a monotone map of the judge's scores to people's scale, too.")
    ] = True
    covariates: Annotated[
        list[str] | None,
        typer.Option(help="Columns of numbers along which the map is moved, such as lengths, COL[,COL...]."),
    ] = None
    alpha: Alpha = 0.05
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds of prompts.")] = 1


@dataclass(frozen=True)
class MapOptions:
    """A map of the judge's scores that is saved, or used again, and what binds it."""

    saved_map: Annotated[
        Path | None,
        typer.Option("--map", help="Saved map of the judge's scores, for systems without labels."),
    ] = None
    save_map: Annotated[
        Path | None, typer.Option("--save-map", help="Write the map of the judge's scores as JSON.")
    ] = None
    judge_version: Annotated[
        str, typer.Option(help="Model and version of the judge, or the column that has them.")
    ] = ""
    judge_prompt: Annotated[
        str, typer.Option(help="File with the judge's prompt, or none for a judge without one.")
    ] = ""
    day: Annotated[
        str | None,
        typer.Option("--date", help="Day on which the judge scored, as 2026-11-29; by default today."),
    ] = None
    stale_after: Annotated[
        int, typer.Option(min=1, help="Days after which a map needs labels that confirm it.")
    ] = 60

    def request(self) -> MapRequest | None:
        """What is asked of maps; None where neither is."""
        from conjury.analysis.raters.systems import MapRequest
        from conjury.inference.tables.files import file_hash
        from conjury.inference.tables.limits import require_file

        if self.saved_map is None and self.save_map is None:
            bound = {"--judge-version": self.judge_version, "--judge-prompt": self.judge_prompt}
            option = next((name for name, value in bound.items() if value), "--date" if self.day else None)
            if option is not None:
                raise InputError(f"{option} binds a map; give --save-map FILE or --map FILE, too.")
            return None
        prompt = self.judge_prompt
        if prompt not in ("", "none"):
            path = Path(prompt)
            require_file(path)
            prompt = file_hash(path)
        try:
            day = date.fromisoformat(self.day) if self.day else date.today()
        except ValueError:
            raise InputError(f"--date {self.day!r} is no day; give it as 2026-11-29.") from None
        return MapRequest(self.saved_map, self.save_map, self.judge_version, prompt, day, self.stale_after)


@grouped
def compare_systems(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="A table with a row per answer and a column of systems, or a file per system.",
            show_default=False,
        ),
    ],
    columns: SystemColumns,
    reading: TableOptions,
    tested: SystemTests,
    maps: MapOptions,
    output: Output,
) -> None:
    """Which system is better? By a judge and a few labels.

    All systems answered the same prompts; a judge scored all answers, and people labelled a few.

    Exit code 0: done; 1: a limit of --fail-under or --fail-over is not met; 2: a file or an option cannot be
    used.
    """
    from conjury.analysis.raters.systems import compare_systems as compute
    from conjury.analysis.raters.validation.output.validation_report import ValidationReport
    from conjury.inference.readers.judged import read_judged
    from conjury.inference.readers.judged.judged_columns import columns_of
    from conjury.inference.readers.judged.judged_files import read_answers_alone
    from conjury.inference.readers.judged.judged_systems import refuse_targets, system_column

    gates, rules, names = output.gates, reading.rules(), _system_names(files, columns)
    labels = read_judged(columns.labels, rules) if columns.labels is not None else None
    judges, human = split_names([columns.judge] if columns.judge else None), split_names(columns.human)
    guesses = list[str]()
    if names:
        parts = [read_judged(file, rules, (*judges, *human)) for file in files]
    else:
        parts = [read_answers_alone(files[0], rules, (*judges, *human), columns.system)]
        if columns.system is None:
            columns = replace(columns, system=system_column(parts[0]))
            guesses.append("systems")
    answers, labelled = [_without_roles(part, columns, tested) for part in (parts[0], labels or parts[0])]
    if not judges:
        judges = _scores(answers) or (columns_of(answers, None, human, needs_human=False).judge,)
        guesses.append("judge")
    if not human:
        human = _people(labelled, judges, needs_human=maps.saved_map is None)
        guesses += ["people"] if human else []
        if labels is None:
            refuse_targets(dict(zip(names or [""], parts, strict=True)), human, columns.system)
    tables = [
        part.reading
        if part.reading.rules.id or part.id is None
        else replace(part.reading, rules=replace(rules, id=part.id))
        for part in parts
    ]
    result = compute(
        dict(zip(names, tables, strict=True)) if names else tables[0],
        judges,
        human,
        system=columns.system or SYSTEM,
        labels=labels.reading if labels else None,
        by=split_names(columns.by),
        mix=_shares(columns.mix),
        margin=tested.margin,
        width=tested.width,
        positive=columns.positive,
        calibration=tested.calibration,
        covariates=split_names(tested.covariates),
        maps=maps.request(),
        labelled=labels_statement(columns.labelled),
        alpha=tested.alpha,
        seed=tested.seed,
    )
    sources = [part.source for part in parts]
    title = f"{listed(result.settings['systems'], 6)}: {counted(int(result.settings['n_rows']), 'answer')}"
    notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    finish(
        ValidationReport(result, title, sources, (_columns_in_words(result, guesses), *notes)), gates, output
    )


def _without_roles(part: Judged, columns: SystemColumns, tested: SystemTests) -> Judged:
    """A table without the columns that are neither of a judge nor of people."""
    from conjury.inference.tables.items import prompt_column

    id_column = part.reading.rules.id or part.id or prompt_column(part.frame)
    names = [columns.system or SYSTEM, id_column, *split_names(columns.by), *split_names(tested.covariates)]
    return replace(part, frame=part.frame.drop(columns=[name for name in names if name in part.frame]))


def _scores(table: Judged) -> tuple[str, ...]:
    """The column of scores of a program that compared answers with their targets; none of other tables."""
    if len(table.scores) > 1:
        raise InputError(f"{table.source}: {listed(table.scores)} are scores; name one with --judge.")
    return table.scores


def _people(table: Judged, judges: Sequence[str], needs_human: bool) -> tuple[str, ...]:
    """The columns of people in a table; none where it has no columns but those of judges."""
    from conjury.inference.readers.judged.judged_columns import columns_of, guessed_people, label_columns

    if not needs_human or judges[0] in table.scores:
        return guessed_people(table, judges[0])
    if not label_columns(table, judges) and not table.people and table.human is None:
        return ()
    try:
        return columns_of(table, judges[0], ()).human
    except InputError as error:
        raise InputError(f"{str(error).rstrip('.')}, or --human {NONE} for the judge alone.") from None


def _system_names(files: Sequence[Path], columns: SystemColumns) -> tuple[str, ...]:
    """Names of the systems of several files; none for one file, which has a column of them."""
    names = split_names([columns.names] if columns.names else None)
    if len(files) == 1:
        if names:
            raise InputError(
                "--names is for several files; in one file the systems are in a column, see --system."
            )
        return ()
    names = names or run_names(files)
    if len(names) != len(files):
        raise InputError(
            f"--names gives {counted(len(names), 'name')} for {len(files)} files; give one for each."
        )
    if len(set(names)) < len(names):
        raise InputError(f"Systems would have equal names ({listed(names)}); give others with --names.")
    return names


def _shares(text: str | None) -> dict[str, float]:
    """Shares of segments, as en=0.7,de=0.3."""
    shares: dict[str, float] = {}
    for entry in split_names([text] if text else None):
        name, equals, value = entry.rpartition("=")
        try:
            share = float(value)
        except ValueError:
            share = -1.0
        if not equals or not name or not 0 <= share <= 1:
            raise InputError(f"--mix {entry!r} is no share; give shares between 0 and 1, as en=0.7,de=0.3.")
        shares[name.strip()] = share
    return shares


def _columns_in_words(result: Validation, guesses: Sequence[str]) -> str:
    """Which columns were compared, and which of them were guessed."""
    settings = result.settings
    what = "mean" if settings["measure"] == "mean" else f"share of '{settings['positive']}'"
    judges, people = (
        ", ".join(f"'{name}'" for name in settings[role]) or "none" for role in ("judge", "human")
    )
    text = (
        f"systems: {listed(settings['systems'], 8)}; judge: {judges}; people: {people}; prompts: "
        f"'{settings['id']}'; compared: {what}"
    )
    if settings["covariates"]:
        text = f"{text}; the map is moved along {listed(map(repr, settings['covariates']))}"
    return f"{text} (guessed: {', '.join(guesses)})" if guesses else text
