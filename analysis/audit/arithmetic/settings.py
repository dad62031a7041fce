"""What a description states about a group of published numbers, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conjury.inference.errors import InputError

from .findings import Group
from .numbers import Printed
from .rating_arithmetic import RatingGrid


def refuse(group: Group, sentence: str) -> InputError:
    """An error about the settings of a group that names its place."""
    return InputError(f"{group.place}: {sentence}" if group.place else sentence)


def whole(group: Group, name: str, default: int | None = None) -> int | None:
    """A setting, or a published number of this role, that is a whole number of 1 or more, if there is one."""
    sizes = size_list(group, name)
    if sizes is None:
        return default
    if len(sizes) > 1:
        raise refuse(group, f"{name} is {list(sizes)}; give one whole number.")
    return sizes[0]


def size_list(group: Group, name: str) -> tuple[int, ...] | None:
    """Whole numbers of 1 or more: a published number of this role, a setting, or a list of possible ones."""
    value: Any = group.numbers[name].value if name in group.numbers else group.settings.get(name)
    if value is None:
        return None
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    sizes = tuple(as_whole(number) for number in values)
    if not sizes or any(size is None or size < 1 for size in sizes):
        raise refuse(group, f"{name} is {value}; give whole numbers of 1 or more.")
    return tuple(size for size in sizes if size is not None)


def as_whole(value: Any) -> int | None:
    """A whole number, or None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = value.replace(",", "")
        return int(value) if value.isdecimal() else None
    try:
        return int(value) if value == int(value) else None
    except (TypeError, ValueError, OverflowError):
        return None


def one_of(group: Group, name: str, allowed: Sequence[str], default: str) -> str:
    """A setting that is one of some words."""
    value = group.settings.get(name, default)
    if value not in allowed:
        raise refuse(group, f"{name} is {value!r}; use {' or '.join(allowed)}.")
    return str(value)


def scale_of(group: Group, items: int = 1) -> RatingGrid:
    """The scale of single ratings, or of averages over items, from the settings ``scale`` and ``step``."""
    if "scale" not in group.settings:
        raise refuse(group, "scale is missing; give the lowest and the highest rating, such as [1, 5].")
    try:
        return RatingGrid.of(group.settings["scale"], group.settings.get("step", 1), items)
    except InputError as error:
        raise refuse(group, str(error)) from None


def listed(values: Sequence[int], limit: int = 12, last: str = "and") -> str:
    """Whole numbers in words; beyond a limit, how many more there are."""
    texts = [f"{value:,}" for value in values[:limit]]
    if len(values) > limit:
        return f"{', '.join(texts)} and {len(values) - limit:,} more"
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def parts_of(group: Group, *other_roles: str) -> dict[str, Printed]:
    """The published numbers whose roles the setting ``parts`` lists; without it, all but some."""
    roles = group.settings.get("parts") or [role for role in group.numbers if role not in other_roles]
    lacking = [role for role in roles if role not in group.numbers]
    if isinstance(roles, str) or lacking:
        raise refuse(group, f"parts is {roles!r}; list roles of published numbers.")
    return {str(role): group.numbers[role] for role in roles}
