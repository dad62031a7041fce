"""The layout of a paper's tables and figures, which is data: a YAML file for each study."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.study.load import error_of_fields
from conjury.inference.study.study_yaml import MarkedYaml, Part, Text, read_marked_yaml
from conjury.inference.tables.files import REPLICATIONS, shipped_names

EVERY = "every"  # all values that the numbers have, in their order
QUANTITY = "estimate"
RATED_ITEMS = "lines__points"  # the mean rating of each item by people, and that of each model


def _as_text(value: object) -> object:
    """Scalars of YAML as they stand in tables."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _as_labels(value: object) -> object:
    """Values with their labels; in a list values are labels."""
    if isinstance(value, list):
        return {str(name): str(name) for name in value}
    if isinstance(value, Mapping):
        return {str(name): str(text) for name, text in value.items()}
    return value


def _as_columns(value: object) -> object:
    """Which column each quantity is in; a name alone is that of the main quantity."""
    return {QUANTITY: value} if isinstance(value, str) else value


def _main_quantity() -> dict[str, str | Significance]:
    return {QUANTITY: QUANTITY}


def _as_texts(value: object) -> object:
    return [str(_as_text(entry)) for entry in (value if isinstance(value, list) else [value])]


Value = Annotated[str, BeforeValidator(_as_text)]
Labels = Annotated[dict[str, str], BeforeValidator(_as_labels)]
Texts = Annotated[list[str], BeforeValidator(_as_texts), Field(min_length=1)]
Digits = Annotated[int, Field(ge=0, le=8)]
Filter = dict[str, Texts]
Keys = dict[str, Labels | Literal["every"]]


class Significance(Part):
    """A quantity that is a mark: whether a p value is below a limit."""

    # column of p values
    column: Text
    # the limit
    below: float


class Columns(Part):
    """Where numbers stand in a table: its columns, rows, and the values of keys that have other names."""

    # ours: name of the result; published: names of the file, the first that there is
    result: Text | None = None
    files: list[Text] = Field(default_factory=list)
    # columns that are called otherwise, by their names in the table
    rename: dict[str, str] = Field(default_factory=dict)
    # values that are called otherwise, by column
    values: dict[str, Labels] = Field(default_factory=dict)
    # only rows in which these columns have one of these values
    where: Filter = Field(default_factory=dict)
    # keys that the table lacks, with their value
    set: dict[str, Value] = Field(default_factory=dict)
    # columns whose ids are replaced by the labels of the study
    labelled: list[Literal["judge", "prompt"]] = Field(default_factory=list)
    # which column each quantity is in
    quantities: Annotated[dict[str, Text | Significance], BeforeValidator(_as_columns)] = Field(
        default_factory=_main_quantity
    )
    # whether 92.1 stands for 0.921
    percent: bool | Filter = False
    # whether these numbers correct a known error of the publication
    corrected: bool = False


class PaperNumbers(Part):
    """A kind of numbers: what tells them apart, and where the published ones and ours are."""

    # columns that name a number
    keys: list[Text] = Field(min_length=1)
    # the published ones
    published: Columns | None = None
    # ours: of the first table that has a number
    ours: list[Columns] = Field(default_factory=list)
    # largest error of published numbers that were read off a figure
    accuracy: float = 0.0
    # series of judges and prompts, by name: the rows that belong to each, the first that fits; the key
    # `series` has their names. `!human` stands for all values but that
    series: dict[str, Filter] = Field(default_factory=dict)


class HeadedColumn(Part):
    """A column of a table: its heading, and the numbers in it."""

    label: Text
    # heading above several columns
    span: str = ""
    # values of keys
    where: dict[str, Value]
    # digits and percent, where they are not those of the table
    digits: Digits | None = None
    percent: bool | None = None


class BestMark(Part):
    """Which numbers are printed bold: the best of each column, in each group of rows."""

    # which quantity
    of: Text = QUANTITY
    # among which rows
    among: Literal["column", "group"] = "column"
    # whether large numbers are good
    highest: bool = True


class Drawing(Part):
    """A figure: of the numbers of the exhibit, as a kind of result, or of a result as it is."""

    # kind of result whose figure is drawn from the numbers; by default dots by row and column
    kind: Text | None = None
    # names of columns of the figure, by key
    rename: dict[str, str] = Field(default_factory=dict)
    # columns that this kind of figure needs besides the keys, with their value
    set: dict[str, Value] = Field(default_factory=dict)
    # result that is drawn as it is
    result: Text | None = None
    # only these rows of it
    where: Filter = Field(default_factory=dict)
    # a further figure of it
    part: Text | None = None
    # options of this kind of figure
    options: dict[str, Any] = Field(default_factory=dict)
    # options of which each value has a figure of its own
    each: dict[str, Texts] = Field(default_factory=dict)


class Reason(Part):
    """Why numbers differ from the published ones."""

    # which numbers: values of keys; without them all
    where: Filter = Field(default_factory=dict)
    # only differences of at most this size, without sign
    within: float | None = None
    # the reason, one sentence
    text: Text


class ExhibitLayout(Part):
    """A table or figure of the paper: its number, its caption, and which numbers stand where."""

    # as the paper numbers it
    number: Text
    # in our words
    caption: Text
    # the kind of numbers
    numbers: Text | None = None
    # values of keys that all its numbers have
    where: dict[str, Value] = Field(default_factory=dict)
    # from keys to their values with labels; the last one names rows, others head groups of rows
    rows: Keys = Field(default_factory=dict)
    # heading of the column of rows
    head: str = ""
    # names of groups of rows, with the values of the last key of rows that belong to each
    groups: dict[str, Texts] = Field(default_factory=dict)
    # from keys to their values with labels, or a list of columns
    columns: Keys | list[HeadedColumn] = Field(default_factory=dict)
    # heading of a column by the labels of keys in braces; without it the first key heads several columns
    heading: str = ""
    # text of a cell, with quantities in braces
    cell: str = "{estimate}"
    # digits behind the point, of all numbers or by quantity
    digits: Digits | dict[Text, Digits] = 3
    # whether shares are printed in percent
    percent: bool = False
    # what stands in cells without a number
    missing: str = "\N{EN DASH}"
    # whether rows without a number are left out
    omit_empty: bool = False
    # the quantity that is a mark of significance
    stars: Text | None = None
    # numbers in bold
    mark: BestMark | None = None
    # the figure
    figure: Drawing | None = None
    # sentences below the table
    note: str = ""
    # why numbers differ
    reasons: list[Reason] = Field(default_factory=list)
    # what takes the place of numbers: a table of attributes, of examples of items, their pictures (those
    # that `where` names), the steps of the study, its prompts, a figure of a result alone; or a command
    shows: Literal["attributes", "examples", "pictures", "steps", "prompts", "figure"] | None = None
    command: Text | None = None

    @property
    def name(self) -> str:
        """Name of its files: `table_3`."""
        return file_name(self.number)

    def results(self, numbers: Mapping[str, PaperNumbers]) -> list[str]:
        """Names of the results that have its numbers, or that it draws; none where it needs none."""
        ours = numbers[self.numbers].ours if self.numbers is not None else []
        names = [columns.result for columns in ours] + [self.figure.result if self.figure else None]
        names += [RATED_ITEMS] if self.shows == "examples" else []
        return list(dict.fromkeys(name.partition("__")[0] for name in names if name))


class PaperLayout(Part):
    """The tables and figures of a paper.

    Parameters
    ----------
    study : str
        Name of the study.
    paper : str
        The publication, with its authors.
    numbers : dict of str to PaperNumbers
        Kinds of numbers, by name.
    exhibits : list of ExhibitLayout
        Tables and figures in the order of the paper.
    simulate, fit : list of str
        Options of `conjury simulate` and `conjury fit` at the size of the paper.
    settings : list of str
        Differences between the settings of the paper and of the study that ships, one sentence each.
    absent : dict of str to str
        Tables and figures that are not replicated, with the reason.
    common : object
        Definitions to which parts of the file refer by anchors.

    Examples
    --------
    >>> layout = read_layout("oogiri")
    >>> layout.exhibits[0].number
    'Figure 1'
    """

    study: Text
    paper: Text
    numbers: dict[str, PaperNumbers] = Field(default_factory=dict)
    exhibits: Annotated[list[ExhibitLayout], Field(min_length=1)]
    simulate: list[Value] = Field(default_factory=list)
    fit: list[Value] = Field(default_factory=list)
    settings: list[Text] = Field(default_factory=list)
    absent: dict[str, str] = Field(default_factory=dict)
    common: Any = None

    def select(self, names: list[str]) -> list[ExhibitLayout]:
        """The exhibits of some numbers, such as "Table 3"; all where none is named."""
        by_name = {exhibit.name: exhibit for exhibit in self.exhibits}
        for name in names:
            if file_name(name) not in by_name:
                numbers = [exhibit.number for exhibit in self.exhibits]
                reason = next(
                    (text for key, text in self.absent.items() if file_name(key) == file_name(name)), ""
                )
                raise InputError(
                    f"--only {name!r}: {reason}"
                    if reason
                    else f"--only {name!r}: {self.paper} has no such table or figure"
                    f"{did_you_mean(name, numbers)}; it has {listed(numbers, len(numbers))}."
                )
        return [by_name[file_name(name)] for name in names] if names else list(self.exhibits)


def file_name(number: str) -> str:
    """What the files of a table or figure are called: `table_3` for Table 3."""
    return re.sub(r"[^a-z0-9]+", "_", number.lower()).strip("_")


def read_layout(name: str | Path) -> PaperLayout:
    """Read and check the layout of a paper.

    Parameters
    ----------
    name : str or Path
        Name of a study whose layout ships, or a YAML file.

    Returns
    -------
    PaperLayout
        The layout, checked.

    Raises
    ------
    InputError
        For an unknown name, and with file and line for fields and keys that do not fit.

    Examples
    --------
    >>> read_layout("moderation").study
    'moderation'
    """
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        names = shipped_names(REPLICATIONS)
        if str(name) not in names:
            raise InputError(
                f"{name}: there is no layout of a paper of this name{did_you_mean(str(name), names)}; use "
                f"one of {listed(names)}, or give a YAML file by --layout."
            )
        path = REPLICATIONS / f"{name}.yaml"
    marked = read_marked_yaml(path)
    try:
        layout = PaperLayout.model_validate(marked.content)
    except ValidationError as problems:
        raise error_of_fields(marked, problems.errors()) from None
    for place, exhibit in enumerate(layout.exhibits):
        _check_keys(marked, place, exhibit, layout)
    return layout


def _check_keys(marked: MarkedYaml, place: int, exhibit: ExhibitLayout, layout: PaperLayout) -> None:
    """Refuse an exhibit whose rows, columns and filter do not name exactly one number for each cell."""
    at = ("exhibits", place)
    if exhibit.numbers is None:
        return
    source = layout.numbers.get(exhibit.numbers)
    if source is None:
        meant = did_you_mean(exhibit.numbers, layout.numbers)
        raise marked.error(
            (*at, "numbers"), f"numbers '{exhibit.numbers}' are not defined{meant}; add them to numbers."
        )
    keys = [*source.keys, *(["series"] if source.series else [])]
    columns = exhibit.columns
    sets = [set(columns)] if isinstance(columns, dict) else [set(column.where) for column in columns]
    for named in sets:
        every = {*exhibit.where, *exhibit.rows, *named}
        lacking = [key for key in keys if key not in every]
        unknown = [key for key in every if key not in keys]
        if lacking or unknown:
            problem = (
                f"no part of it names {listed(lacking)}; add it to where, rows or columns"
                if lacking
                else f"{listed(unknown)} is no key of numbers '{exhibit.numbers}'; it has {listed(keys)}"
            )
            raise marked.error(at, f"{exhibit.number}: {problem}.")


def combinations(keys: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, str]]:
    """All combinations of the values of some keys, the first key outermost."""
    for values in itertools.product(*keys.values()):
        yield dict(zip(keys, values, strict=True))
