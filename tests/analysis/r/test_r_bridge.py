"""What goes over to R and comes back, and how R's warnings, errors and absence show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis import r
from conjury.cli.commands.start import findings
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
        (pd.array([1, None, -3], dtype="Int8"), "integer"),
        (pd.array([True, None, False], dtype="boolean"), "logical"),
        (pd.array(["a", None, "NA"], dtype="string"), "character"),
        (np.array([1.5, np.nan, -0.0]), "numeric"),
        (np.array(["é", None, ""], dtype=object), "character"),
        (np.array([True, None, False], dtype=object), "logical"),
        (pd.array([1, None, 3], dtype="int64[pyarrow]"), "integer"),
        (pd.array([2**40, None, 1], dtype="Int64"), "numeric"),
    ],
    ids=["Int8", "boolean", "string", "float", "object text", "object bool", "arrow", "beyond 32 bits"],
)
def test_missing_values_of_every_dtype_become_na_and_return(values: object, r_class: str) -> None:
    frame = pd.DataFrame({"x": values})
    define("look <- function(data) list(class = class(data$x), missing = is.na(data$x))")
    seen = r.call("look", data=frame)
    assert list(seen["class"]) == [r_class]
    assert list(seen["missing"]) == frame["x"].isna().tolist()
    back = there_and_back(frame)["x"]
    assert back.isna().tolist() == frame["x"].isna().tolist()
    assert back.dropna().tolist() == frame["x"].dropna().tolist()


@pytest.mark.r
def test_missing_floats_are_na_and_not_nan_in_r() -> None:
    define("count_nan <- function(data) sum(is.nan(data$x))")
    assert r.call("count_nan", data=pd.DataFrame({"x": [1.0, np.nan]}))[0] == 0


@pytest.mark.r
def test_odd_column_names_stay_as_they_are() -> None:
    names = ["two words", "if", "`tick`", "größe", "1st", "日本", "a+b", ""]
    frame = pd.DataFrame([range(len(names))], columns=names)
    assert there_and_back(frame).columns.tolist() == names


@pytest.mark.r
def test_labels_beyond_ascii_survive_in_levels_names_and_text() -> None:
    levels = ["żółć", "“quoted”", "日本語", "🙂"]
    frame = pd.DataFrame({"ß": pd.Categorical(levels, categories=levels[::-1]), "text": levels})
    back = there_and_back(frame)
    assert back["ß"].cat.categories.tolist() == levels[::-1]
    assert back["text"].tolist() == levels


@pytest.mark.r
def test_lists_matrices_vectors_and_null_have_their_python_counterparts() -> None:
    define("shapes <- function() list(m = matrix(1:6, 2), nothing = NULL, l = list(1, 'a'), s = c('b', NA))")
    found = r.call("shapes")
    np.testing.assert_array_equal(found["m"], [[1, 3, 5], [2, 4, 6]])
    assert found["nothing"] is None
    assert [item[0] for item in found["l"]] == [1.0, "a"]
    assert list(found["s"]) == ["b", None]


@pytest.mark.r
def test_arguments_keep_their_shape() -> None:
    define("same <- function(x) x")
    matrix = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(r.call("same", x=matrix), matrix)
    nested = r.call("same", x={"a": [["u", "v"], ["w"]], "b": None, "c": True})
    assert [list(item) for item in nested["a"]] == [["u", "v"], ["w"]]
    assert nested["b"] is None
    assert nested["c"].tolist() == [True]


@pytest.mark.r
def test_r_warnings_become_python_warnings_in_order() -> None:
    define("warn_twice <- function() { warning('first'); warning('second'); 5 }")
    with pytest.warns(r.RWarning) as caught:
        assert r.call("warn_twice")[0] == 5
    assert [str(warning.message) for warning in caught] == ["first", "second"]
    assert caught[0].filename == __file__


@pytest.mark.r
def test_r_errors_carry_r_message_and_call() -> None:
    define("fail <- function(data) stop('no such thing: é')")
    with pytest.raises(r.RError, match="no such thing: é") as caught:
        r.call("fail", data=pd.DataFrame({"x": range(1000)}))
    assert caught.value.r_message == "no such thing: é"
    assert caught.value.r_call == "fail(data = data)"
    assert isinstance(caught.value, ConjuryError)
    assert "rpy2" not in str(caught.value)


@pytest.mark.r
def test_r_prints_nothing_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    define("loud <- function() { print('printed'); cat('written'); message('told'); 1 }")
    r.call("loud")
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err == ""


@pytest.mark.r
def test_calls_from_many_threads_do_not_mix() -> None:
    define("twice <- function(x) { Sys.sleep(0.001); 2 * x }")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda value: r.call("twice", x=value)[0], range(40)))
    assert found == [2 * value for value in range(40)]


@pytest.mark.r
def test_functions_do_not_land_in_the_global_environment() -> None:
    define("global_names <- function() ls(globalenv())")
    assert "fit_survey" not in list(r.call("global_names"))


@pytest.mark.r
def test_integers_that_r_cannot_hold_are_refused() -> None:
    with pytest.raises(InputError, match=r"'pair'.*make it text"):
        r.call("plain_frame", table=pd.DataFrame({"pair": [2**60]}))


@pytest.mark.r
def test_dtypes_that_r_does_not_take_are_refused() -> None:
    with pytest.raises(InputError, match="'when'"):
        r.call("plain_frame", table=pd.DataFrame({"when": pd.to_datetime(["2024-01-01"])}))


@pytest.mark.r
def test_a_missing_r_package_is_named_with_its_remedy() -> None:
    with pytest.raises(MissingDependency, match=r"nosuchpackage is not installed; install it with"):
        r.require("nosuchpackage")


def test_every_package_that_the_r_side_calls_is_looked_for() -> None:
    called = {
        name for file in R_SOURCES.glob("*.R") for name in re.findall(r"(\w+)::", file.read_text("utf-8"))
    }
    shipped_with_r = {"base", "stats", "utils", "graphics", "grDevices", "methods"}
    assert called - shipped_with_r <= set(r.PACKAGES)
    assert r.remedy("clubSandwich").startswith("apt-get install r-cran-clubsandwich, or install.packages(")


def test_the_remedy_in_the_message_is_the_one_that_doctor_shows() -> None:
    remedies = {finding.part: finding.remedy for finding in findings()}
    for name in r.PACKAGES:
        assert remedies[f"R package {name}"] == r.remedy(name)
        assert r._missing_package(name).endswith(f"install it with: {r.remedy(name)}.")
    assert (remedies["rpy2"], remedies["R"]) == (r.remedy("rpy2"), r.remedy("R"))


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=settings, check=False, timeout=120)


def test_without_rpy2_one_sentence_says_how_to_install_it() -> None:
    code = """
import importlib.metadata as metadata
real = metadata.version
def version(name):
    if name == "rpy2":
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.version = version
from conjury.analysis.r import bridge as r
print(r.available().problem)
try:
    r.call("versions")
except r.MissingDependency as error:
    print(error)
"""
    shown = run_python(code)
    sentence = "The R engines need the Python package rpy2; install it with: pip install 'conjury[r]'."
    assert shown.stdout.splitlines() == [sentence, sentence], shown.stderr


def test_without_r_one_sentence_says_how_to_install_it(tmp_path: Path) -> None:
    code = "from conjury.analysis.r import bridge as r; print(r.available().problem)"
    shown = run_python(code, R_HOME=str(tmp_path), PATH=str(tmp_path))
    assert shown.stdout.startswith("R is not installed or cannot be loaded; install it with: apt-get install")
    assert len(shown.stdout.splitlines()) == 1
    assert shown.stderr == ""


def test_importing_the_bridge_does_not_import_rpy2() -> None:
    code = "import sys, conjury.analysis.r; print(any(name.startswith('rpy2') for name in sys.modules))"
    assert run_python(code).stdout.strip() == "False"


@pytest.mark.r
def test_labels_survive_in_a_process_without_a_utf8_locale() -> None:
    code = """
import pandas as pd
from conjury.analysis.r import bridge as r
frame = pd.DataFrame({"é": pd.Categorical(["ü", "日本"])})
back = r.call("plain_frame", table=frame)
print(back.columns.tolist() == ["é"], back["é"].tolist() == ["ü", "日本"])
print(r.call("fit_survey", data=frame.assign(y=[1.0, 0.0]), formula="y ~ `é`")["names"][1] == "é日本")
"""
    shown = run_python(code, LC_ALL="C", LANG="C")
    assert shown.stdout.split() == ["True", "True", "True"], shown.stderr


@pytest.mark.r
def test_r_may_start_in_a_thread_that_is_not_the_main_one() -> None:
    code = """
import threading
from conjury.analysis.r import bridge as r
found = []
worker = threading.Thread(target=lambda: found.append(r.call("versions")["R"][0]))
worker.start(); worker.join()
print(found[0] == r.call("versions")["R"][0])
"""
    shown = run_python(code)
    assert shown.stdout.split() == ["True"], shown.stderr
    assert shown.stderr == ""


@pytest.mark.r
@pytest.mark.parametrize("path", [None, "/nowhere"])
def test_starting_r_leaves_the_library_path_of_later_programs_alone(path: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    environment |= {} if path is None else {"LD_LIBRARY_PATH": path}
    script = (
        "import os, subprocess\n"
        "from conjury.analysis.r import bridge as r\n"
        "assert r.available().r\n"
        "shown = 'echo \"<$LD_LIBRARY_PATH>\"'\n"
        "print(os.environ.get('LD_LIBRARY_PATH'))\n"
        "print(subprocess.run(['sh', '-c', shown], capture_output=True, text=True).stdout.strip())"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines() == [str(path), f"<{path or ''}>"]
