"""What goes over to R and comes back, and how R's warnings, errors and absence show."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis import r
from conjury.cli.commands.starting.installed import findings
from conjury.inference.errors import ConjuryError, InputError, MissingDependency
from conjury.inference.tables.files import R_SOURCES


def there_and_back(frame: pd.DataFrame) -> pd.DataFrame:
    returned = r.call("plain_frame", table=frame)
    assert isinstance(returned, pd.DataFrame)
    return returned


def define(code: str) -> None:
    """Add a function to the environment of the bridge, to see how it takes what R does."""
    from rpy2 import rinterface

    environment = r._session().functions
    parsed = rinterface.baseenv["parse"](text=rinterface.StrSexpVector([code]))
    rinterface.baseenv["eval"](parsed, environment)


@pytest.mark.r
def test_ordered_categoricals_arrive_as_unordered_factors_with_their_level_order() -> None:
    tone = pd.Categorical(["sharp", "calm", None], categories=["sharp", "rude", "calm"], ordered=True)
    back = there_and_back(pd.DataFrame({"tone": tone}))["tone"]
    assert back.cat.categories.tolist() == ["sharp", "rude", "calm"]
    assert not back.cat.ordered
    assert back.isna().tolist() == [False, False, True]
    assert back.dropna().tolist() == ["sharp", "calm"]
    define("class_of <- function(data) class(data[[1L]])")
    assert list(r.call("class_of", data=pd.DataFrame({"tone": tone}))) == ["factor"]


@pytest.mark.r
@pytest.mark.parametrize(
    ("values", "r_class"),
    [
        pytest.param(pd.array([1, None, -3], dtype="Int8"), "integer", id="Int8"),
        pytest.param(pd.array([True, None, False], dtype="boolean"), "logical", id="boolean"),
        pytest.param(pd.array(["a", None, "NA"], dtype="string"), "character", id="string"),
        pytest.param(np.array([1.5, np.nan, -0.0]), "numeric", id="float"),
        pytest.param(np.array(["é", None, ""], dtype=object), "character", id="object text"),
        pytest.param(np.array([True, None, False], dtype=object), "logical", id="object bool"),
        pytest.param(pd.array([1, None, 3], dtype="int64[pyarrow]"), "integer", id="arrow"),
        pytest.param(pd.array([2**40, None, 1], dtype="Int64"), "numeric", id="beyond 32 bits"),
    ],
)
def test_missing_values_of_every_dtype_become_na_and_return(values: object, r_class: str) -> None:
    frame = pd.DataFrame({"x": values})
    define("look <- function(d) list(class = class(d$x), missing = is.na(d$x), nan = sum(is.nan(d$x)))")
    seen = r.call("look", d=frame)
    assert list(seen["class"]) == [r_class]
    assert list(seen["missing"]) == frame["x"].isna().tolist()
    assert seen["nan"][0] == 0
    back = there_and_back(frame)["x"]
    assert back.isna().tolist() == frame["x"].isna().tolist()
    assert back.dropna().tolist() == frame["x"].dropna().tolist()


@pytest.mark.r
def test_odd_names_and_labels_beyond_ascii_survive() -> None:
    names = ["two words", "if", "`tick`", "größe", "1st", "日本", "a+b", ""]
    assert there_and_back(pd.DataFrame([range(8)], columns=names)).columns.tolist() == names
    levels = ["żółć", "“quoted”", "日本語", "🙂"]
    back = there_and_back(
        pd.DataFrame({"ß": pd.Categorical(levels, categories=levels[::-1]), "text": levels})
    )
    assert back["ß"].cat.categories.tolist() == levels[::-1]
    assert back["text"].tolist() == levels


@pytest.mark.r
def test_arguments_and_values_keep_their_shape() -> None:
    define("shapes <- function() list(m = matrix(1:6, 2), nothing = NULL, l = list(1, 'a'), s = c('b', NA))")
    found = r.call("shapes")
    np.testing.assert_array_equal(found["m"], [[1, 3, 5], [2, 4, 6]])
    assert found["nothing"] is None
    assert [item[0] for item in found["l"]] == [1.0, "a"]
    assert list(found["s"]) == ["b", None]
    define("same <- function(x) x")
    matrix = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(r.call("same", x=matrix), matrix)
    nested = r.call("same", x={"a": [["u", "v"], ["w"]], "b": None, "c": True})
    assert [list(item) for item in nested["a"]] == [["u", "v"], ["w"]]
    assert nested["b"] is None
    assert nested["c"].tolist() == [True]


@pytest.mark.r
def test_warnings_errors_and_output_of_r_come_as_those_of_python(capfd) -> None:
    define("warn_twice <- function() { warning('first'); warning('second'); 5 }")
    with pytest.warns(r.RWarning) as caught:
        assert r.call("warn_twice")[0] == 5
    of_r = [warning for warning in caught if warning.category is r.RWarning]
    assert [str(warning.message) for warning in of_r] == ["first", "second"]
    assert of_r[0].filename == __file__
    define("fail <- function(data) stop('no such thing: é')")
    with pytest.raises(r.RError, match="no such thing: é") as failed:
        r.call("fail", data=pd.DataFrame({"x": range(1000)}))
    assert (failed.value.r_message, failed.value.r_call) == ("no such thing: é", "fail(data = data)")
    assert isinstance(failed.value, ConjuryError)
    assert "rpy2" not in str(failed.value)
    define("loud <- function() { print('printed'); cat('written'); message('told'); 1 }")
    r.call("loud")
    assert capfd.readouterr() == ("", "")


@pytest.mark.r
def test_calls_from_many_threads_do_not_mix_and_leave_the_global_environment_alone() -> None:
    define("twice <- function(x) { Sys.sleep(0.001); 2 * x }")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda value: r.call("twice", x=value)[0], range(40)))
    assert found == [2 * value for value in range(40)]
    define("global_names <- function() ls(globalenv())")
    assert "fit_survey" not in list(r.call("global_names"))


@pytest.mark.r
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: there_and_back(pd.DataFrame({"pair": [2**60]})), InputError, r"'pair'.*make it text"),
        (
            lambda: there_and_back(pd.DataFrame({"when": pd.to_datetime(["2024-01-01"])})),
            InputError,
            "'when'",
        ),
        (
            lambda: r.require("nosuchpackage"),
            MissingDependency,
            "nosuchpackage is not installed; install it with",
        ),
    ],
)
def test_values_and_packages_that_r_does_not_take_or_have_are_named(
    call: Any, error: Any, words: str
) -> None:
    with pytest.raises(error, match=words):
        call()


def test_every_package_of_the_r_side_is_looked_for_with_the_remedy_that_doctor_shows() -> None:
    called = {name for file in R_SOURCES for name in re.findall(r"(\w+)::", file.read_text("utf-8"))}
    shipped_with_r = {"base", "stats", "utils", "graphics", "grDevices", "methods"}
    assert called - shipped_with_r <= set(r.PACKAGES)
    assert r.remedy("clubSandwich").startswith("apt-get install r-cran-clubsandwich, or install.packages(")
    remedies = {finding.part: finding.remedy for finding in findings()}
    for name in r.PACKAGES:
        assert remedies.get(f"R package {name}") == (r.remedy(name) if shutil.which("R") else None)
        assert r._missing_package(name).endswith(f"install it with: {r.remedy(name)}.")
    assert (remedies["rpy2"], remedies["R"]) == (r.remedy("rpy2"), r.remedy("R"))


def run_python(code: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in ({**os.environ, **environment}).items() if value is not None}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=settings, check=False, timeout=120)


@pytest.mark.long
def test_without_rpy2_the_bridge_is_imported_and_one_sentence_says_how_to_install_it() -> None:
    code = """
import importlib.metadata as metadata, sys
real = metadata.version
def version(name):
    if name == "rpy2":
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.version = version
from conjury.analysis import r
print(any(name.startswith("rpy2") for name in sys.modules))
print(r.available().problem)
try:
    r.call("versions")
except r.MissingDependency as error:
    print(error)
"""
    shown = run_python(code)
    sentence = "The R engines need the Python package rpy2; install it with: pip install 'conjury[r]'."
    assert shown.stdout.splitlines() == ["False", sentence, sentence], shown.stderr


@pytest.mark.long
def test_without_r_one_sentence_says_how_to_install_it(tmp_path: Path) -> None:
    code = "from conjury.analysis import r; print(r.available().problem)"
    shown = run_python(code, R_HOME=str(tmp_path), PATH=str(tmp_path))
    assert shown.stdout.startswith("R is not installed or cannot be loaded; install it with: apt-get install")
    assert len(shown.stdout.splitlines()) == 1
    assert shown.stderr == ""


@pytest.mark.slow
@pytest.mark.r
@pytest.mark.parametrize("path", [pytest.param(None, marks=pytest.mark.long), "/nowhere"])
def test_r_starts_in_any_thread_and_locale_and_leaves_the_library_path_alone(path: str | None) -> None:
    code = """
import os, subprocess, threading
import pandas as pd
from conjury.analysis import r
found = []
worker = threading.Thread(target=lambda: found.append(r.call("versions")["R"][0]))
worker.start(); worker.join()
print(found[0] == r.call("versions")["R"][0])
frame = pd.DataFrame({"é": pd.Categorical(["ü", "日本"])})
back = r.call("plain_frame", table=frame)
print(back.columns.tolist() == ["é"], back["é"].tolist() == ["ü", "日本"])
print(r.call("fit_survey", data=frame.assign(y=[1.0, 0.0]), formula="y ~ `é`")["names"][1] == "é日本")
shown = subprocess.run(["sh", "-c", 'echo "<$LD_LIBRARY_PATH>"'], capture_output=True, text=True).stdout
print(os.environ.get("LD_LIBRARY_PATH"), shown.strip())
"""
    shown = run_python(code, LC_ALL="C", LANG="C", LD_LIBRARY_PATH=path)
    assert shown.stdout.split() == ["True"] * 4 + [str(path), f"<{path or ''}>"], shown.stderr
    assert shown.stderr == ""
