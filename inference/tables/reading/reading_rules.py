"""How a table of somebody else is read: the options of every command and function that reads one."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypedDict

from ...errors import InputError, UnknownOption, did_you_mean, listed
from .cell_rules import key_of

SCALES = ("nominal", "ordinal", "interval")
ANY_COLUMN = ""  # key of levels that hold for all columns of answers


class RuleArguments(TypedDict, total=False):
    """The keyword arguments of functions that read a table; each is a field of `ReadingRules`."""

    form: str | None
    encoding: str | None
    delimiter: str | None
    decimal: str | None
    sheet: str | None
    header_row: int | None
    missing: Sequence[str] | float
    levels: Mapping[str, Sequence[str]] | Sequence[str]
    classes: Sequence[str]
    relabel: Mapping[str, str] | None
    scale: str | None
    where: Mapping[str, str | Sequence[str]]
    exclude: Mapping[str, str | Sequence[str]]
    id: str | None
    weights: str | None
    judge_kind: str | None
    rater_column: str | None
    rating_column: Sequence[str]
    dimension_column: str | None
    strict: bool


def rules_of(arguments: RuleArguments) -> ReadingRules:
    """The rules that keyword arguments state; levels without a column are those of all answers."""
    levels = arguments.get("levels", {})
    if "classes" in arguments:
        warnings.warn("classes= is called levels= now.", DeprecationWarning, stacklevel=4)
        levels = levels or arguments["classes"]
    by_column = (
        levels if isinstance(levels, Mapping) else {ANY_COLUMN: tuple(map(str, levels))} if levels else {}
    )
    options: dict[str, Any] = {**arguments}
    for name in ("where", "exclude", "relabel"):
        if options.get(name) and not isinstance(options[name], Mapping):
            raise InputError(f"{name} is {options[name]!r}; give a mapping, such as {{'text': 'value'}}.")
    texts = {str(text): str(label) for text, label in (arguments.get("relabel") or {}).items()}
    missing, ratings = (
        (str(names),) if isinstance(names, str | float | int) else tuple(map(str, names))
        for names in (arguments.get("missing", ()), arguments.get("rating_column", ()))
    )
    fields = {**arguments, "levels": by_column, "relabel": texts, "missing": missing}
    fields["rating_column"] = ratings
    fields.pop("classes", None)
    names = list(ReadingRules.__dataclass_fields__)
    for name in fields:
        if name not in names:
            meant = did_you_mean(name, names)
            raise UnknownOption(f"There is no option {name!r}{meant}; help() lists them.", name)
    return ReadingRules(**fields)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ReadingRules:
    """What a user states about a table; what is not stated is guessed, and the account says so.

    Parameters
    ----------
    form : str, optional
        Format of the file, one of ``conjury.inference.tables.reading.FORMATS``.
    encoding, delimiter, decimal, sheet : str, optional
        How a text file or a workbook is written.
    header_row : int, optional
        Line of a text file, or row of a sheet, with the names of columns, from 1.
    missing : sequence of str
        Texts of cells that are no answer, in all columns.
    levels : mapping of str to sequence of str
        Labels in their order, by column; those under the empty key hold for all columns of answers. A text
        that they name is a label, even where it looks like a code for nothing.
    relabel : mapping of str to str
        Labels by the texts that are written instead, in the answers of judges and of people.
    scale : str, optional
        ``nominal``, ``ordinal`` or ``interval``.
    where, exclude : mapping of str to str, or to several
        Rows that are used, and rows that are not, by column and cell, or cells.
    value_labels : mapping of str to sequence of str
        Labels that a file of SPSS or Stata has for its values, in the order of the values, by column, where
        the file does not call them ordinal. Readers fill it in; no scale follows from it.
    id, weights, judge_kind : str, optional
        Columns of the item of each row, of its weight, and of what the judge is.
    rater_column, dimension_column : str, optional
        Of a table with one row per rating the columns of its rater, and of what was rated.
    rating_column : sequence of str
        Its columns of ratings; several are dimensions.
    strict : bool
        Whether every guess is refused.

    Raises
    ------
    InputError
        A scale is unknown, a text is both missing and a label, or one label is relabelled in two ways.

    Examples
    --------
    >>> ReadingRules(missing=["."], levels={"": ["no", "yes"]}).order_of("gpt")
    ('no', 'yes')
    """

    form: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    missing: Sequence[str] = ()
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    relabel: Mapping[str, str] = field(default_factory=dict)
    scale: str | None = None
    where: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    exclude: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    value_labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    id: str | None = None
    weights: str | None = None
    judge_kind: str | None = None
    rater_column: str | None = None
    dimension_column: str | None = None
    rating_column: Sequence[str] = ()
    strict: bool = False

    def __post_init__(self) -> None:
        """Refuse what contradicts itself, before a file is opened."""
        if self.scale is not None and self.scale not in SCALES:
            raise InputError(
                f"The scale '{self.scale}' is unknown{did_you_mean(self.scale, SCALES)}; use "
                f"{listed(SCALES)}."
            )
        first: dict[str, str] = {}
        for text, label in self.relabel.items():
            earlier = first.setdefault(key_of(text), text)
            if key_of(self.relabel[earlier]) != key_of(label):
                raise InputError(
                    f"'{earlier}' and '{text}' are spellings of one label and are relabelled as "
                    f"'{self.relabel[earlier]}' and '{label}'; give one label for both, or correct the table."
                )
        nothing = {key_of(text) for text in self.missing}
        for column, labels in self.levels.items():
            keys = [key_of(label) for label in labels]
            where = f" of '{column}'" if column else ""
            for label, key in zip(labels, keys, strict=True):
                if key in nothing:
                    raise InputError(
                        f"'{label}' is named as missing and as a level{where}; keep one of the two."
                    )
                if keys.count(key) > 1:
                    raise InputError(f"Level '{label}'{where} is given twice; give each level once.")

    def over(self, base: ReadingRules) -> ReadingRules:
        """These rules with what another set states besides; where both state something, these decide."""
        merged: dict[str, Any] = {
            name: {**getattr(base, name), **getattr(self, name)}
            for name in ("levels", "relabel", "where", "exclude", "value_labels")
        }
        labels_of = {key_of(label) for labels in self.levels.values() for label in labels}
        missing = [text for text in base.missing if key_of(text) not in labels_of]
        merged["missing"] = tuple(dict.fromkeys([*missing, *self.missing]))
        merged["strict"] = self.strict or base.strict
        merged["rating_column"] = self.rating_column or base.rating_column
        single = {
            field.name: getattr(self if getattr(self, field.name) is not None else base, field.name)
            for field in fields(self)
            if field.name not in merged
        }
        return ReadingRules(**merged, **single)

    def conditions_on(self, columns: Collection[str], *, only: bool) -> ReadingRules:
        """The rules with conditions on some columns only, or on all others."""
        where, exclude = (
            {name: value for name, value in conditions.items() if (name in columns) == only}
            for conditions in (self.where, self.exclude)
        )
        return replace(self, where=where, exclude=exclude)

    def order_of(self, column: str) -> tuple[str, ...]:
        """The levels that are stated for a column, in their order; empty where none are."""
        return tuple(self.levels.get(column, self.levels.get(ANY_COLUMN, ())))


def common_order(orders: Sequence[tuple[str, ...]], n: int) -> tuple[str, ...]:
    """The order that the labels of all n dimensions have; empty where they differ, or one has none."""
    return orders[0] if len(orders) == n and len(set(orders)) == 1 else ()
