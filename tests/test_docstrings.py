"""What an `__all__` names is documented in numpydoc's form, as the API reference of the site prints it."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from numpydoc import validate
from numpydoc.docscrape import get_doc_object
from public_names import public_modules

# Types are annotations (PR04); See Also, extended summaries and the style of examples are not asked for.
ASKED = {
    *(f"GL{number:02d}" for number in range(1, 11)),
    *("SS01", "SS02", "SS03", "SS04", "SS05", "YD01", "EX01"),
    *("PR01", "PR02", "PR03", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10"),
    *("RT01", "RT03", "RT04", "RT05"),
}
# numpydoc reads the comments of a file anew for each name in it
comments_of = cache(validate.extract_ignore_validation_comments)


@cache
def faults(documented: Any) -> tuple[str, ...]:
    """Name the faults in the docstring of a class or function."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validate, "extract_ignore_validation_comments", comments_of)
        found = validate.validate(get_doc_object(documented))["errors"]
    return tuple(f"{code} {text}" for code, text in found if code in ASKED)


def faults_of(module: ModuleType) -> list[str]:
    """Name the faults in the docstrings of what an `__all__` names; constants and modules have none."""
    named = ((name, getattr(module, name)) for name in module.__all__)
    documented = [(name, one) for name, one in named if inspect.isclass(one) or inspect.isroutine(one)]
    return [f"{name}: {fault}" for name, one in documented for fault in faults(one)]


@pytest.mark.parametrize("name", list(public_modules()))
def test_public_names_are_documented_in_numpydocs_form(name: str) -> None:
    assert faults_of(importlib.import_module(name)) == []


def undocumented(length: int) -> int:
    """Double a number."""
    return 2 * length


def test_a_parameter_without_a_description_and_a_missing_example_are_named() -> None:
    module = ModuleType("made_up")
    module.__all__ = ["CONSTANT", "undocumented"]
    module.CONSTANT, module.undocumented = 3, undocumented  # type: ignore[attr-defined]
    named = faults_of(module)
    assert {fault.split()[1] for fault in named} == {"PR01", "RT01", "EX01"}
    assert all(fault.startswith("undocumented: ") for fault in named)


def test_public_modules_are_found_by_their_names() -> None:
    found = set(public_modules())
    assert {"conjury", "conjury.analysis.conjoint", "conjury.inference.panel.plan"} <= found
