"""Published tables checked number by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError, counted, listed
from conjury.inference.tables.writing import write_text

from ...results import Result
from ..arithmetic.findings import REGISTERED, Finding, Verdict
from .cell_text import parts_of
from .description import Description, GroupDescription, read_description
from .groups import FilePlace, NumberSelection, NumberSource, groups_of
from .guessing import guess
from .table_files import locate, read_tables
from .table_grid import Table

KIND = "published_numbers"
EXTRA = ("numbers", "pairs")  # further tables
COLUMNS = [
    *("file", "table", "place", "row", "column", "quantity", "published", "check", "verdict", "under"),
    *("nearest", "n_definitions", "chance", "reason", "finding"),
]
GRAVITY = ("inconsistent", "conditional", "consistent", "untested")  # what one check tested, is tested
NUMBER = ["file", "table", "row", "column", "part"]  # what identifies a published number


@dataclass(frozen=True)
class CheckedGroup:
    """A finding on a group."""

    taken: NumberSelection
    finding: Finding


Progress = Callable[[int, int], None]


def check_table(
    path: str | Path,
    description: str | Path | Description | None = None,
    *,
    progress: Progress | None = None,
) -> Result:
    """Check the numbers of published tables against each other.

    Parameters
    ----------
    path : str or Path
        A file of tables: CSV, HTML, Markdown or LaTeX; or the name of one that ships.
    description : str, Path or Description, optional
        What the columns are, by default a file of the same name that ends in .yaml. Without one it is
        guessed from the names of columns; what was guessed is among the notes.
    progress : callable, optional
        Called with the number of groups of numbers that are checked, and that of all.

    Returns
    -------
    Result
        Kind "published_numbers", with one row for each published number and check. ``file, table, row,
        column`` and ``place`` (its group, in words) say where it is; ``quantity`` is its role, ``published``
        its text.
        ``check, verdict, reason`` are what a check finds; ``under`` lists definitions under which the number
        is consistent, ``nearest`` the nearest possible value, ``n_definitions`` how many were tried,
        ``chance`` the probability that random numbers pass; rows of one finding share the number ``finding``.
        ``extra["numbers"]`` has one row for each published number, with its gravest verdict. Verdicts are
        "consistent" (as published), "conditional" (only under another definition), "inconsistent" (as
        published) and "untested".

    Raises
    ------
    InputError
        For files that cannot be read, and for descriptions that do not fit.

    References
    ----------
    Brown, N. J. L., Heathers, J. A. J. (2017). The GRIM test. Social Psychological and Personality Science
    8(4), 363-369. doi:10.1177/1948550616673876.

    Examples
    --------
    >>> result = check_table("harm_or_humor_counts")
    >>> result.extra["numbers"]["verdict"].unique().tolist()
    ['consistent']
    """
    path = locate(path)
    tables = read_tables(path)
    details, file, notes = _find_description(path, tables, description)
    place = FilePlace(path, file)
    checked: list[CheckedGroup] = []
    skipped: dict[tuple[str, str], int] = {}
    groups = [
        (described, selection)
        for described in details.groups
        for selection in groups_of(tables, described, place)
    ]
    for number, (described, selection) in enumerate(groups):
        if progress is not None:
            progress(number, len(groups))
        lacking = [role for role in REGISTERED[described.check].needs if role not in selection.group.numbers]
        if lacking or not selection.group.numbers:
            missing = (REGISTERED[described.check].title, listed(lacking) or "every number")
            skipped[missing] = skipped.get(missing, 0) + 1
            continue
        checked += [CheckedGroup(selection, finding) for finding in _run(described, selection, file)]
    notes += [
        f"{title}: {counted(number, 'group')} of {path.name} not checked, since {what} is missing."
        for (title, what), number in skipped.items()
    ]
    frame = _frame(path, tables, checked)
    notes += _numbers_of_no_group(path, tables, details, checked)
    settings = {
        "files": [path.name],
        "titles": {path.name: details.title or path.name},
        "sources": {path.name: details.source},
        "rows": {path.name: sum(len(table.rows) for table in tables)},
        "checks": {name: REGISTERED[name].title for name in frame["check"].unique()},
    }
    extra = {"numbers": _numbers(frame), "pairs": _pairs(path, checked)}
    return Result(frame[COLUMNS], KIND, tuple(notes), settings, extra)


def check_tables(
    paths: Sequence[str | Path],
    description: str | Path | Description | None = None,
    *,
    progress: Progress | None = None,
) -> Result:
    """Check several files; the result has the rows of all.

    Parameters
    ----------
    paths : sequence of str or Path
        Files of tables, each with another name.
    description : str, Path or Description, optional
        As in `check_table`; one for all files.
    progress : callable, optional
        As in `check_table`, for one file after the other.

    Returns
    -------
    Result
        As of `check_table`; ``settings["files"]`` lists the files.

    Raises
    ------
    InputError
        As `check_table`; without a file, and for two files of one name.

    Examples
    --------
    >>> found = check_tables(["harm_or_humor_counts", "multiturn"])
    >>> found.settings["files"]
    ['harm_or_humor_counts.csv', 'multiturn.csv']
    """
    if not paths:
        raise InputError("There is no table to check; give at least one file.")
    names = [locate(path).name for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"Two files have the name {twice}; rename one, or check them one after the other.")
    results = [check_table(path, description, progress=progress) for path in paths]
    offset, frames = 0, []
    for result in results:
        frames.append(result.frame.assign(finding=result.frame["finding"] + offset))
        offset += int(result.frame["finding"].max() + 1) if len(result.frame) else 0
    settings = {
        "files": [name for result in results for name in result.settings["files"]],
        **{
            name: {key: text for result in results for key, text in result.settings[name].items()}
            for name in ("titles", "sources", "rows", "checks")
        },
    }
    return Result(
        pd.concat(frames, ignore_index=True),
        KIND,
        tuple(note for result in results for note in result.notes),
        settings,
        {part: pd.concat([result.extra[part] for result in results], ignore_index=True) for part in EXTRA},
    )


def write_description(path: str | Path) -> Path:
    r"""Write the guessed description of a file of tables next to it, as NAME.yaml.

    Parameters
    ----------
    path : str or Path
        A file of tables.

    Returns
    -------
    Path
        Path of the description.

    Raises
    ------
    InputError
        Where there is such a file already, and where nothing can be guessed.

    Examples
    --------
    >>> import tempfile
    >>> table = Path(tempfile.mkdtemp()) / "small.csv"
    >>> _ = table.write_text("mean,sd\n2.63,0.58\\n")
    >>> write_description(table).name
    'small.yaml'
    """
    path = Path(path)
    beside = _description_path(path)
    if beside.exists():
        raise InputError(f"{beside} already exists; edit it, or move it away.")
    guessed = guess(read_tables(path), path)
    write_text(beside, guessed.text())
    return beside


def _description_path(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.gz').rpartition('.')[0]}.yaml")


def _find_description(
    path: Path, tables: Sequence[Table], description: str | Path | Description | None
) -> tuple[Description, Path | None, list[str]]:
    """The description, its file if there is one, and notes on what was guessed."""
    if isinstance(description, Description):
        return description, None, []
    beside = _description_path(path)
    file = Path(description) if description is not None else beside if beside.is_file() else None
    if file is not None:
        return read_description(file), file, []
    guessed = guess(tables, path)
    notes = [f"{note}; write {beside.name} to correct it." for note in guessed.sentences]
    return guessed.description, None, notes


def _run(described: GroupDescription, selection: NumberSelection, file: Path | None) -> list[Finding]:
    """What a check finds; a guessed description that lacks a setting leaves the numbers untested."""
    run = REGISTERED[described.check].run
    try:
        findings = list(run(selection.group))
        for name, alternative in reversed(list(selection.alternatives.items())):
            if any(finding.verdict not in ("consistent", "untested") for finding in findings):
                findings = under_alternative(findings, name, list(run(alternative)))
    except InputError as error:
        if file is not None:
            raise InputError(f"{file}: {error}") from None
        return [Finding(described.check, tuple(selection.group.numbers), "untested", str(error))]
    return findings


def under_alternative(
    findings: Sequence[Finding], name: str, alternatives: Sequence[Finding]
) -> list[Finding]:
    """Findings with those under another definition, named where the numbers are consistent under it."""
    # The probability that random numbers pass one of both is at most the sum of the two.
    by_numbers = {(alternative.check, alternative.numbers): alternative for alternative in alternatives}
    result = []
    for finding in findings:
        alternative = by_numbers.get((finding.check, finding.numbers))
        if alternative is None or finding.verdict in ("consistent", "untested"):
            result.append(finding)
            continue
        tried = finding.n_definitions + alternative.n_definitions
        if alternative.undecided:
            reason = f"{finding.reason} The search did not decide under {name}."
            verdict: Verdict = "untested" if finding.verdict == "inconsistent" else finding.verdict
            result.append(replace(finding, verdict=verdict, reason=reason, n_definitions=tried, chance=None))
            continue
        chance_sum = None
        if finding.chance is not None and alternative.chance is not None:
            chance_sum = min(finding.chance + alternative.chance, 1.0)
        if alternative.verdict not in (
            "consistent",
            "untested",
        ):  # what excludes nothing excludes these neither
            result.append(replace(finding, n_definitions=tried, chance=chance_sum))
            continue
        under = (name, *finding.under)
        result.append(
            replace(finding, verdict="conditional", under=under, n_definitions=tried, chance=chance_sum)
        )
    return result


def _frame(path: Path, tables: Sequence[Table], checked: Sequence[CheckedGroup]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for number, entry in enumerate(checked):
        finding = entry.finding
        shared = {
            "place": entry.taken.group.place,
            "check": finding.check,
            "verdict": finding.verdict,
            "under": "; ".join(finding.under),
            "nearest": finding.nearest,
            "n_definitions": finding.n_definitions,
            "chance": finding.chance,
            "reason": finding.reason,
            "finding": number,
        }
        for role in finding.numbers:
            source = entry.taken.sources[role]
            rows.append(
                {
                    "file": path.name,
                    **_place(tables, source),
                    "part": source.part,
                    "quantity": role,
                    "published": entry.taken.group.numbers[role].text,
                    **shared,
                }
            )
    frame = pd.DataFrame(rows, columns=[*COLUMNS, "part"])
    return frame.assign(chance=frame["chance"].astype(float), finding=frame["finding"].astype(int))


def _numbers_of_no_group(
    path: Path, tables: Sequence[Table], details: Description, checked: Sequence[CheckedGroup]
) -> list[str]:
    """How many numbers of the described columns are in no group, by the columns that select numbers."""
    parts = [number for described in details.groups for number in described.numbers.values()]
    columns = {name for number in parts for name in number.column}
    selectors = list(dict.fromkeys(name for number in parts for name in number.where))
    group_cells = {(s.table, s.row, s.column) for entry in checked for s in entry.taken.sources.values()}
    counts: dict[str, int] = {}
    total = 0
    for at, table in enumerate(tables):
        for row, cells in enumerate(table.rows):
            texts = dict(zip(table.columns, cells, strict=True))
            for column in columns & set(table.columns):
                total += (is_number := bool(parts_of(texts[column])))
                if is_number and (at, row, column) not in group_cells:
                    kind = ", ".join(f"{name} {texts[name]}" for name in selectors if texts.get(name))
                    counts[kind] = counts.get(kind, 0) + 1
    if not counts:
        return []
    kinds = [f"{kind}: {count:,}" for kind, count in counts.items() if kind]
    which = f" ({listed(kinds, 6)})" if kinds else ""
    number_text = f"{sum(counts.values()):,} of {total:,} numbers"
    return [f"{path.name}: {number_text} are in no group of its description{which}. {details.gaps}".strip()]


def _place(tables: Sequence[Table], source: NumberSource) -> Mapping[str, Any]:
    table = tables[source.table]
    return {"table": table.name, "row": table.lines[source.row], "column": source.column}


def _pairs(path: Path, checked: Sequence[CheckedGroup]) -> pd.DataFrame:
    """Means with standard deviations on a scale, for the picture of which are possible."""
    rows: list[dict[str, Any]] = []
    for entry in checked:
        numbers, settings = entry.taken.group.numbers, entry.taken.group.settings
        if entry.finding.check != "mean_sd" or "sd" not in entry.finding.numbers or "scale" not in settings:
            continue
        low, high = (float(Fraction(str(end))) for end in settings["scale"])
        averaged = int(settings.get("items", 1)) * int(settings.get("raters", 1))
        step = float(Fraction(str(settings.get("step", 1)))) / averaged
        mean, sd = (float(numbers[role].exact) for role in ("mean", "sd"))
        of = {"file": path.name, "group": entry.taken.name, "place": entry.taken.group.place}
        scale = {"lowest": low, "highest": high, "step": step}
        rows.append({**of, "mean": mean, "sd": sd, **scale, "verdict": entry.finding.verdict})
    names = ["file", "group", "place", "mean", "sd", "lowest", "highest", "step", "verdict"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.astype(dict.fromkeys(names[3:8], float))


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each published number: its gravest verdict with the reason, and all checks."""
    # Of several findings with this verdict, the one that random numbers pass least often is given.
    keyed = frame.assign(rank=frame["verdict"].map(GRAVITY.index))
    first = keyed.sort_values(["rank", "chance"], kind="stable", na_position="last").drop_duplicates(NUMBER)
    checks = keyed.groupby(NUMBER, sort=False)["check"].agg(lambda names: ", ".join(dict.fromkeys(names)))
    numbers = first.sort_index().merge(checks.rename("checks").reset_index(), on=NUMBER)
    names = [*COLUMNS[:7], "checks", "verdict", "under", "chance", "reason"]
    return numbers[names].reset_index(drop=True)
