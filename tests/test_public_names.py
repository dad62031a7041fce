"""One name for one thing in all public functions, and at the top of the package."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from public_names import public_functions

import conjury
from conjury.analysis import conjoint

MODULES_OF_AN_AMCE = 50

# Names elsewhere of what is here called judge, item, dimension, alpha, draws, seed, by or data.
OTHERS = {
    *("judge_id", "judge_col", "rater", "rater_id", "annotator", "item_id", "item_col", "dim", "criterion"),
    *(
        "confidence",
        "conf_level",
        "ci",
        "significance",
        "n_boot",
        "n_bootstrap",
        "replicates",
        "n_draws",
        "iters",
    ),
    *("random_state", "rng", "random_seed", "subgroup", "groupby", "group_by", "dataframe"),
}


def test_parameters_have_one_name_in_all_public_functions() -> None:
    found = {
        f"{name}({parameter})"
        for name, function in public_functions()
        for parameter in inspect.signature(function).parameters
        if parameter in OTHERS
    }
    assert found == set()


def test_numbers_and_truth_values_have_one_default_in_public_functions_but_those_that_are_named() -> None:
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    usual, of_some, functions = yaml.safe_load(text).values()
    found = {
        (short, parameter.name): parameter.default
        for name, function in public_functions()
        for short in {".".join(name.split(".")[-2:])} & set(functions)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name in usual and isinstance(parameter.default, int | float)
    }
    assert found == {(name, key): of_some.get(key, {}).get(name, usual[key]) for name, key in found}
    assert len(found) > 150


def test_what_is_asked_for_most_is_at_the_top() -> None:
    for name in conjury.__all__:
        thing = getattr(conjury, name)
        assert callable(thing)
        assert getattr(thing, "__name__", name) == name
    assert not hasattr(conjury, "nothing_of_this_name")


def test_importing_the_package_imports_no_library() -> None:
    program = "import sys, conjury; print([name for name in ('pandas', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.long
def test_an_amce_imports_no_other_analysis() -> None:
    program = "import sys\nfrom conjury import amce\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "conjury.analysis.conjoint.verbs.amce" in loaded
    assert sum(name.partition(".")[0] == "conjury" for name in loaded) <= MODULES_OF_AN_AMCE
    partners = {"scipy.special", "scipy.sparse", "scipy.linalg", "pydantic", "pyarrow.parquet"}
    assert not partners & loaded  # scipy imports these when they are used


def test_verbs_keep_their_names_beside_folders_of_the_same_name() -> None:
    for name in ("power", "reliability"):
        importlib.import_module(f"conjury.analysis.conjoint.{name}")
        assert inspect.isfunction(getattr(conjoint, name))
    assert set(conjoint.__all__) <= set(dir(conjoint))
