"""The description of a published table: which cells belong together, what they are, and what is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from conjury.inference.errors import listed
from conjury.inference.study.load import error_of_fields
from conjury.inference.study.study_yaml import MarkedYaml, Part, Text, read_marked_yaml, suggestion

from ..arithmetic.findings import REGISTERED


def _as_texts(value: object) -> object:
    """Scalars as they stand in cells, in a list."""
    values = value if isinstance(value, list) else [value]
    return [str(element) if isinstance(element, (int, float, bool)) else element for element in values]


def _as_names(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(_as_texts), Field(min_length=1)]
Names = Annotated[list[Text], BeforeValidator(_as_names)]
Filter = dict[str, Texts]


class Number(Part):
    """Where the cells of a role are: their column, the rows, and which number of a cell it is."""

    # column that contains the numbers; several where the role names `{column}`
    column: Annotated[Names, Field(min_length=1)]
    # only rows in which these columns have one of these values
    where: Filter = Field(default_factory=dict)
    # which number of a cell such as "0.43 (0.02) [0.39, 0.47]"
    part: Literal["value", "parenthesis", "plus_minus", "lower", "upper"] = "value"
    # whether 92.1 stands for 0.921. A percent sign in the cell says so, too
    percent: bool = False


def _as_number(value: object) -> object:
    return {"column": value} if isinstance(value, (str, list)) else value


class Setting(Part):
    """What is known of groups and differs between them: by the text of a column, or by keys."""

    # column that has the value itself
    column: Text | None = None
    # which part of its cells, such as "stars"
    part: Literal["value", "parenthesis", "stars", "below", "text"] = "text"
    # only rows in which these columns have one of these values
    where: Filter = Field(default_factory=dict)
    # columns whose values name the setting; several are joined by a comma and a blank
    by: Names = Field(default_factory=list)
    # the settings by these names; "other" stands for all others
    values: dict[Any, Any] = Field(default_factory=dict)


class GroupDescription(Part):
    """Groups of numbers that belong together, and the check that is made of each."""

    check: Text  # name of a registered check
    # what the groups are, in words
    name: str = ""
    # which tables of the file, from 1; without it all that have the columns
    tables: list[Annotated[int, Field(ge=1)]] = Field(default_factory=list)
    # only rows in which these columns have one of these values
    rows: Filter = Field(default_factory=dict)
    # rows with the same values in these columns are one group; without it each row is one
    by: Annotated[list[Text] | None, BeforeValidator(_as_names)] = None
    # from roles to their cells. A name of a column in braces, as in `part_{label}`, gives one role for each
    # of its values
    numbers: dict[Text, Annotated[Number, BeforeValidator(_as_number)]] = Field(min_length=1)
    # what is known, such as the scale and the sample size: a value, or a `Setting`
    settings: dict[Text, Any] = Field(default_factory=dict)
    # from other definitions, in words, to the settings that differ under them. They are tried where the
    # numbers are not consistent as stated
    alternatives: dict[Text, Annotated[dict[Text, Any], Field(min_length=1)]] = Field(default_factory=dict)


class Description(Part):
    """What is known about the tables of a file.

    Parameters
    ----------
    title : str
        What the tables are, for reports.
    source : str
        Where they were published.
    gaps : str
        Why numbers of the file are in no group, one sentence.
    groups : list of GroupDescription
        Groups of numbers that belong together, each with the check that is made of it; one or more.

    Examples
    --------
    >>> group = {"check": "counts", "numbers": {"a": "women", "b": "men", "total": "all"}}
    >>> Description(title="Participants", groups=[group]).groups[0].check
    'counts'
    """

    title: str = ""
    source: str = ""
    gaps: str = ""
    groups: Annotated[list[GroupDescription], Field(min_length=1)]


def read_description(path: str | Path) -> Description:
    """Read and check a description.

    Parameters
    ----------
    path : str or Path
        A YAML file.

    Returns
    -------
    Description
        The description, checked.

    Raises
    ------
    InputError
        With file and line: for unknown fields, checks, roles and settings.

    Examples
    --------
    >>> from conjury.inference.tables.files import PUBLISHED
    >>> [group.check for group in read_description(PUBLISHED / "harm_or_humor_counts.yaml").groups]
    ['counts', 'subgroups']
    """
    marked = read_marked_yaml(Path(path))
    try:
        description = Description.model_validate(marked.content)
    except ValidationError as problems:
        raise error_of_fields(marked, problems.errors()) from None
    for number, group in enumerate(description.groups):
        problem = _problem(group)
        if problem is not None:
            raise marked.error(("groups", number, *problem[0]), problem[1])
        for at, settings in _settings(group):
            for name, value in settings.items():
                if is_setting(value):
                    _check_setting(marked, ("groups", number, *at, name), value)
    return description


def is_setting(value: object) -> bool:
    """Whether a setting differs between groups, rather than being a value."""
    return isinstance(value, Mapping) and ("column" in value or ("by" in value and "values" in value))


def _problem(group: GroupDescription) -> tuple[tuple[str, ...], str] | None:
    """What of a group no check knows, with its place in the file."""
    check = REGISTERED.get(group.check)
    if check is None:
        return ("check",), f"check {suggestion(group.check, REGISTERED)}"
    lacking = [role for role in check.needs if role not in group.numbers]
    if lacking:
        return ("numbers",), f"the check {check.name} needs {listed(lacking)}; add it to numbers."
    roles = [*check.needs, *check.uses]
    if roles and "parts" not in check.settings:
        heads = {role.partition(":")[0] for role in roles}  # `recall` stands for recall:LABEL, too
        unknown_role = next(
            (
                role
                for role in group.numbers
                if role not in roles and not (":" in role and role.partition(":")[0] in heads)
            ),
            None,
        )
        if unknown_role is not None:
            return ("numbers", unknown_role), suggestion(unknown_role, roles)
    for at, settings in _settings(group):
        unknown = [name for name in settings if name not in check.settings]
        if unknown:
            return (*at, unknown[0]), suggestion(unknown[0], check.settings or ("nothing",))
    return None


def _settings(group: GroupDescription) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Settings with their place: those stated, and those of each alternative."""
    yield ("settings",), group.settings
    for name, settings in group.alternatives.items():
        yield ("alternatives", name), settings


def _check_setting(marked: MarkedYaml, at: tuple[str | int, ...], value: object) -> None:
    try:
        Setting.model_validate(value)
    except ValidationError as problems:
        first = problems.errors()[0]
        first["loc"] = (*at, *first["loc"])
        raise error_of_fields(marked, [first]) from None


def as_yaml(description: Description) -> str:
    """The YAML of a description, as `read_description` reads it."""
    import yaml

    content = description.model_dump(exclude_defaults=True)
    for group in content["groups"]:
        group["numbers"] = {
            role: number["column"][0] if list(number) == ["column"] and len(number["column"]) == 1 else number
            for role, number in group["numbers"].items()
        }
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100))
