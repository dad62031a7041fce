"""A description guessed from the names of columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conjury.inference.errors import InputError, listed

from ..arithmetic.findings import REGISTERED
from .cell_text import is_missing, parts_of
from .description import Description, GroupDescription, Number, as_yaml
from .table_grid import Table

_ROLES: dict[str, tuple[str, str]] = {  # role -> pattern of the whole name, meaning in words
    "mean": (r"mean|m|avg|average|mean score", "the mean"),
    "sd": (r"sd|s d|std|std dev|stdev|standard deviation", "the standard deviation"),
    "n": (r"n|sample size|n obs|observations", "the sample size"),
    "estimate": (r"estimate|est|coef|coefficient|b|beta|amce|effect", "the estimate"),
    "se": (r"se|s e|std error|std err|standard error|stderr", "the standard error"),
    "lower": (r"lower|ci lower|lower ci|conf low|2 5|ll", "the lower limit"),
    "upper": (r"upper|ci upper|upper ci|conf high|97 5|ul", "the upper limit"),
    "p": (r"p|p value|pvalue|pr t|sig", "the p value"),
    "z": (r"z|z value|z statistic", "the z statistic"),
    "t": (r"t|t value|t statistic", "the t statistic"),
    "r": (r"r|pearson|correlation|corr", "the correlation"),
    "accuracy": (r"accuracy|acc", "the accuracy"),
    "precision": (r"precision|prec|ppv", "the precision"),
    "recall": (r"recall|sensitivity|rec|tpr", "the recall"),
    "specificity": (r"specificity|tnr", "the specificity"),
    "f1": (r"f1|f1 score|f score", "the F1 score"),
    "macro_f1": (r"macro f1|f1 macro", "macro-F1"),
    "mcc": (r"mcc|matthews", "Matthews' correlation"),
    "kappa": (r"kappa|cohens kappa|\u03ba", "Cohen's kappa"),
    "total": (r"total|sum|all|n total", "the total"),
}
_PAIRS = {  # "Mean (SD)": the second quantity is in parentheses
    "mean": "sd",
    "estimate": "se",
}
GUESSED = ("mean_sd", "counts", "scores", "agreement", "correlation", "effect")  # checks that are guessed
_LONG = ("metric", "coefficient", "statistic", "measure", "quantity", "score", "label")


@dataclass(frozen=True)
class Guess:
    """A guessed description, and what was guessed in sentences."""

    description: Description
    sentences: tuple[str, ...]

    def text(self) -> str:
        """The YAML to be corrected, with the settings that its checks can use as comments."""
        checks = dict.fromkeys(group.check for group in self.description.groups)
        lines = [
            f"# {name}: {REGISTERED[name].title}. Settings: {', '.join(REGISTERED[name].settings) or 'none'}."
            for name in checks
        ]
        return "\n".join([*lines, as_yaml(self.description)])


def guess(tables: Sequence[Table], path: Path) -> Guess:
    """Guess what the columns of tables are."""
    groups: list[GroupDescription] = []
    sentences: list[str] = []
    for number, table in enumerate(tables, 1):
        numbers, by = dict(_numbers(table)), None
        if not any(_applies(name, numbers) for name in GUESSED):
            numbers, by = _long_numbers(table)
        checks = [REGISTERED[name] for name in GUESSED if _applies(name, numbers)]
        for check in checks:
            places = {role: place for role, place in numbers.items() if role in (*check.needs, *check.uses)}
            if check.name == "counts":
                places |= dict(_parts_of_total(table, numbers["total"]))
            groups.append(
                GroupDescription(
                    check=check.name, tables=[number] if len(tables) > 1 else [], by=by, numbers=places
                )
            )
            sentences += [_sentence(role, place) for role, place in places.items()]
    if not groups:
        columns = listed(tables[0].columns, 20)
        raise InputError(
            f"{path}: the columns ({columns}) do not identify the numbers; write "
            f"{path.name.removesuffix('.gz').rpartition('.')[0]}.yaml or name a description with --columns."
        )
    return Guess(Description(groups=groups), tuple(dict.fromkeys(sentences)))


def _applies(name: str, numbers: Mapping[str, Number]) -> bool:
    """Whether a check that can be guessed is there and has the roles that it needs."""
    check = REGISTERED.get(name)
    if check is None or not set(numbers) & {*check.needs, *check.uses}:
        return False
    return all(role in numbers for role in check.needs) and bool(check.needs)


def _long_numbers(table: Table) -> tuple[dict[str, Number], list[str]]:
    """Roles that the values of one column name, with the numbers in another; columns before it are keys."""
    for position, column in enumerate(table.columns):
        if _normal_name(column) not in _LONG:
            continue
        values = list(dict.fromkeys(row[position] for row in table.rows))
        roles = {role: value for value in values if (role := _role(value)) is not None}
        numeric = [
            at
            for at in range(position + 1, len(table.columns))
            if all(parts_of(row[at]) or is_missing(row[at]) for row in table.rows)
        ]
        if not roles or not numeric:
            continue
        at = numeric[0]
        name = table.columns[at]
        percent = "percent" in _normal_name(name).split() or "%" in name
        numbers = {
            role: Number(column=[name], where={column: [value]}, percent=percent)
            for role, value in roles.items()
        }
        return numbers, [key for key in table.columns[:at] if key != column]
    return {}, []


def _numbers(table: Table) -> Iterator[tuple[str, Number]]:
    """Roles that the names of columns suggest, wide or long."""
    numbers: dict[str, Number] = {}
    for position, column in enumerate(table.columns):
        cells = [parts_of(row[position]) for row in table.rows]
        if not any(cells):
            continue
        percent = "%" in column
        role = _role(column)
        first, second = _roles_of_pair(column)
        if first is not None:
            numbers.setdefault(first, Number(column=[column], percent=percent))
            part = "plus_minus" if any("plus_minus" in cell for cell in cells) else "parenthesis"
            if second is not None:
                numbers.setdefault(second, Number(column=[column], part=part, percent=percent))  # type: ignore[arg-type]
        elif role is not None:
            numbers.setdefault(role, Number(column=[column], percent=percent))
            pair_role = _PAIRS.get(role)
            for part in ("parenthesis", "plus_minus"):
                if pair_role is not None and any(part in cell for cell in cells):
                    numbers.setdefault(pair_role, Number(column=[column], part=part, percent=percent))  # type: ignore[arg-type]
            if any("lower" in cell for cell in cells):
                for end in ("lower", "upper"):
                    numbers.setdefault(end, Number(column=[column], part=end, percent=percent))
    yield from numbers.items()


def _parts_of_total(table: Table, total: Number) -> Iterator[tuple[str, Number]]:
    """Every other column of whole numbers as a part of the total; in a long table every other name."""
    for column, (name,) in total.where.items():
        at = table.columns.index(column)
        names = list(dict.fromkeys(row[at] for row in table.rows if row[at] != name))
        yield f"{{{column}}}", Number(column=total.column, where={column: names})
        return
    for position, column in enumerate(table.columns):
        cells = [parts_of(row[position]).get("value", "") for row in table.rows]
        if column != total.column[0] and all(re.fullmatch(r"[\d,]+", cell) for cell in cells):
            yield column, Number(column=[column])


def _normal_name(column: str) -> str:
    """The last part of a name, in small letters and blanks."""
    text = column.rpartition(": ")[2].casefold()
    return " ".join(re.sub(r"[^\w\u03ba]+|_", " ", text).split())


def _role(column: str) -> str | None:
    name = _normal_name(column)
    return next((role for role, (pattern, _) in _ROLES.items() if re.fullmatch(pattern, name)), None)


def _roles_of_pair(column: str) -> tuple[str | None, str | None]:
    """Roles of a column such as "Mean (SD)" or "M \u00b1 SD"."""
    parts = re.fullmatch(r"(.+?)\s*(?:\((.+)\)|(?:\u00b1|\+/-)\s*(.+))", column.rpartition(": ")[2])
    if parts is None:
        return None, None
    first, second = _role(parts[1]), _role(parts[2] or parts[3])
    return (first, second) if first is not None and second is not None else (None, None)


def _sentence(role: str, number: Number) -> str:
    meaning = _ROLES[role][1] if role in _ROLES else "a part of the total"
    of = "" if number.part == "value" else f", {number.part.replace('_', '-')},"
    where = "".join(f" where '{name}' is {' or '.join(values)}" for name, values in number.where.items())
    return f"Guessed: column '{number.column[0]}'{where}{of} is {meaning}"
