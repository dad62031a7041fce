"""Runs of trials: common draws, seeds, stopping, failures, interruption, several processes and Ray."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.trials import CONTENT, OWN, written

from conjury.analysis.trial import load_trial, run_trial, trial_runner
from conjury.inference.errors import InputError, MissingDependency


def run(
    folder: Path, out: Path | None = None, /, options: dict[str, Any] | None = None, **changes: object
) -> Any:
    return run_trial(load_trial(written(folder, **changes)), out, **(options or {}))


def measured(result: Any, measure: str) -> pd.Series:
    rows = result.frame[result.frame["measure"] == measure]
    return rows.set_index(["rows", "estimand", "method"])["estimate"]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of ten draws, and a look at the stopping rule after each two of them."""
    monkeypatch.setattr(trial_runner, "BLOCK", 10)
    monkeypatch.setattr(trial_runner, "ROUND", 20)


def test_the_table_is_tidy_and_each_estimand_has_its_rows(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert list(result.frame) == [
        *("process", "rows", "estimand", "quantity", "method", "measure"),
        *("estimate", "mc_error", "draws", "failures"),
    ]
    assert (result.frame["draws"] == 6).all()
    found = measured(result, "coverage")
    assert (found.xs("sample", level="estimand") == 1.0).all()  # the difference of the sample itself
    assert np.allclose(measured(result, "bias").xs("sample", level="estimand"), 0)
    draws = result.extra["zip"].groupby(["rows", "estimand", "method"])
    assert all(
        row == pytest.approx([100 * (k + 0.5) / 6 for k in range(6)]) for row in draws["centile"].agg(list)
    )
    means = draws[["lower", "upper", "covers"]].mean()
    of_draws = {"width": means["upper"] - means["lower"], "bias": (means["lower"] + means["upper"]) / 2}
    for measure, mean in {**of_draws, "coverage": means["covers"]}.items():
        assert np.allclose(mean, measured(result, measure).reindex(mean.index))
    widths = measured(result, "width").unstack("method")
    assert np.allclose(widths["means, scale=2.0"], 2 * widths["means, scale=1.0"])  # the same draws


@pytest.mark.long
def test_draws_depend_on_seed_and_cell_but_not_on_the_rest_of_the_file(tmp_path: Path) -> None:
    first = measured(run(tmp_path), "bias")
    fewer = {**CONTENT["processes"][0], "expand": {"rows": [40]}}  # type: ignore[index]
    methods = [{"name": "other", "method": f"{OWN}:noisy"}, *CONTENT["methods"]]  # type: ignore[misc]
    again = measured(run(tmp_path, processes=[fewer], methods=methods), "bias")
    assert again[40, "population", "means, scale=1.0"] == first[40, "population", "means, scale=1.0"]
    other = measured(run(tmp_path, seed=2), "bias")
    assert other[40, "population", "means, scale=1.0"] != first[40, "population", "means, scale=1.0"]


def test_only_the_estimands_of_the_file_are_compared(tmp_path: Path) -> None:
    found = run(tmp_path, estimands={"sample": "In the sample"})
    assert set(found.frame["estimand"]) == {"sample"}
    with pytest.raises(InputError, match="names the estimand 'elsewhere', of which no process has"):
        run(tmp_path, estimands={"elsewhere": "Elsewhere"})


@pytest.mark.long
def test_the_level_of_the_trial_reaches_methods(tmp_path: Path) -> None:
    wide, narrow = (measured(run(tmp_path, alpha=alpha), "width") for alpha in (0.05, 0.1))
    assert np.allclose(narrow / wide, 1.645 / 1.96)


def test_methods_can_be_chosen_by_name(tmp_path: Path) -> None:
    methods = [*CONTENT["methods"], {"name": "noisy", "method": f"{OWN}:noisy"}]  # type: ignore[misc]
    found = run(tmp_path, options={"methods": ["noisy"]}, methods=methods)
    assert set(found.frame["method"]) == {"noisy"}
    with pytest.raises(InputError, match=r"no method 'noise' \(did you mean 'noisy'\?\)"):
        run(tmp_path, options={"methods": ["noise"]}, methods=methods)
    with pytest.raises(InputError, match=r"returns diference \(did you mean 'difference'\?\), and none"):
        run(tmp_path, methods=[methods[0], {**methods[1], "options": {"of": "diference"}}])


@pytest.mark.long
def test_failures_are_counted_and_noted_with_their_reason(tmp_path: Path) -> None:
    methods = [*CONTENT["methods"], {"name": "failing", "method": f"{OWN}:failing"}]  # type: ignore[misc]
    result = run(tmp_path, draws=60, methods=methods)
    share = measured(result, "failures").xs("failing", level="method")
    assert share.between(0.2, 0.8).all()
    counts = result.frame[result.frame["method"] == "failing"].groupby("rows")["failures"].first()
    assert np.allclose(counts / 60, share.xs("population", level="estimand"))
    assert any("ValueError: The first row is above 0." in note for note in result.notes)


def test_methods_whose_library_is_absent_are_excluded_with_a_note(tmp_path: Path) -> None:
    methods = [{"name": "absent", "method": f"{OWN}:absent"}, *CONTENT["methods"]]  # type: ignore[misc]
    result = run(tmp_path, methods=methods)
    assert "absent" not in set(result.frame["method"])
    assert result.notes == ("absent: excluded. somewhere is not installed; pip install somewhere.",)
    with pytest.raises(InputError, match="No method of the trial can run here"):
        run(tmp_path, methods=methods[:1])


def test_a_method_that_fails_everywhere_is_refused_before_the_run(tmp_path: Path) -> None:
    methods = [{"name": "a", "method": "amce", "options": {"formula": "y ~ group", "vcov": "HC9"}}]
    with pytest.raises(
        InputError, match=r"Method a fails in the first draw of every cell\. InputError: .*HC9"
    ):
        run(tmp_path, tmp_path / "out", methods=methods)
    assert not (tmp_path / "out").exists()


def test_parts_that_break_the_contract_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"own_methods:wordless does not return a table"):
        run(tmp_path, methods=[{"name": "a", "method": f"{OWN}:wordless"}])
    with pytest.raises(InputError, match=r"own_methods:untrue does not return a Drawn"):
        run(tmp_path, processes=[{"name": "a", "process": f"{OWN}:untrue"}])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"draws": 0}, "draws is 0"), ({"workers": 0}, "workers is 0"), ({"backend": "slurm"}, "local, ray")],
)
def test_impossible_options_are_refused(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        run(tmp_path, options=options)


def test_measures_of_users_stand_beside_the_others(tmp_path: Path) -> None:
    names = ["bias", f"{OWN}:mean_absolute_error"]
    found = run(tmp_path, performance=names)
    assert set(found.frame["measure"]) == set(names)
    assert (measured(found, names[1]) >= measured(found, "bias").abs() - 1e-12).all()


@pytest.mark.slow
def test_draws_stop_when_errors_are_small_enough(tmp_path: Path) -> None:
    methods = [{"name": "means", "method": f"{OWN}:means"}]
    result = run(tmp_path, draws=800, until={"bias": 0.032}, methods=methods)
    draws = result.frame.groupby("rows")["draws"].first()
    errors = result.frame[result.frame["measure"] == "bias"].groupby("rows")["mc_error"].max()
    # The spread of the difference is 2 / sqrt(rows), so that 0.032 needs about 391 draws of 10 rows.
    assert (draws[10], draws[40]) in ((400, 200), (600, 200))
    assert (errors <= 0.032).all()


@pytest.mark.long
@pytest.mark.usefixtures("small_blocks")
def test_shares_without_variation_do_not_stop_a_trial_at_once(tmp_path: Path) -> None:
    result = run(tmp_path, draws=40, until={"coverage": 0.002}, estimands={"sample": "Sample"})
    assert (result.frame["draws"] == 40).all()


def interrupted_after(blocks: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done >= blocks * 10:
            raise KeyboardInterrupt

    return progress


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.parquet")}


@pytest.mark.long
@pytest.mark.usefixtures("small_blocks")
def test_an_interrupted_run_goes_on_and_gives_the_same_bytes(tmp_path: Path) -> None:
    whole = run(tmp_path, tmp_path / "whole", draws=15)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, tmp_path / "cut", options={"progress": interrupted_after(1)}, draws=15)
    kept = content_of(tmp_path / "cut")
    assert 0 < len(kept) < len(content_of(tmp_path / "whole"))
    asked: list[int] = []
    options = {"started": lambda expected: asked.append(expected.draws)}
    again = run(tmp_path, tmp_path / "cut", options=options, draws=15)
    pd.testing.assert_frame_equal(again.frame, whole.frame)
    assert content_of(tmp_path / "cut") == content_of(tmp_path / "whole")
    assert asked == [20]  # of 30, one block was there
    without = run(tmp_path, draws=15)
    pd.testing.assert_frame_equal(without.frame, whole.frame)


@pytest.mark.long
@pytest.mark.usefixtures("small_blocks")
def test_more_draws_and_more_methods_reuse_what_is_there(tmp_path: Path) -> None:
    out, asked = tmp_path / "out", []
    options = {"started": lambda expected: asked.append(expected.draws)}
    run(tmp_path, out, draws=10)
    run(tmp_path, out, options=options, draws=20)
    methods = [*CONTENT["methods"], {"name": "noisy", "method": f"{OWN}:noisy"}]  # type: ignore[misc]
    run(tmp_path, out, options=options, draws=20, methods=methods)
    assert asked == [20, 40]


@pytest.mark.long
@pytest.mark.parametrize(("before", "draws"), [(4, 30), (6, 4)])
def test_further_draws_are_made_again_and_fewer_are_the_first(
    tmp_path: Path, before: int, draws: int
) -> None:
    run(tmp_path, tmp_path / "out", draws=before)
    again = run(tmp_path, tmp_path / "out", draws=draws)
    assert again.frame["draws"].unique().tolist() == [draws]
    pd.testing.assert_frame_equal(again.frame, run(tmp_path, draws=draws).frame)


@pytest.mark.long
def test_a_changed_module_of_the_user_is_computed_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = measured(run(tmp_path, out), "width")
    module = tmp_path / f"{OWN}.py"
    trial = load_trial(tmp_path / "own.yaml")
    module.write_text(module.read_text(encoding="utf-8").replace("1.96", "19.6"), encoding="utf-8")
    after = measured(run_trial(trial, out), "width")
    assert (after > before).all()


@pytest.mark.slow
def test_two_processes_give_the_bytes_of_one(tmp_path: Path) -> None:
    one = run(tmp_path, tmp_path / "one", draws=250)
    two = run(tmp_path, tmp_path / "two", options={"workers": 2}, draws=250)
    pd.testing.assert_frame_equal(one.frame, two.frame)
    assert content_of(tmp_path / "one") == content_of(tmp_path / "two")


class FakeRay(ModuleType):
    """What `run_trial` uses of Ray, which runs tasks in the order that is the opposite of theirs."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.is_up = False

    def init(self, **options: object) -> None:
        self.is_up = True

    def shutdown(self) -> None:
        self.is_up = False

    def put(self, shared: object) -> object:
        return shared

    def remote(self, function: Callable[..., Any]) -> Any:
        class Remote:
            def remote(self, shared: object, task: object) -> Any:
                return lambda: function(shared, task)

        return Remote()

    def wait(self, waiting: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        return waiting[-num_returns:], waiting[:-num_returns]

    def get(self, ready: Callable[[], Any]) -> Any:
        return ready()


@pytest.mark.long
@pytest.mark.usefixtures("small_blocks")
def test_draws_of_a_ray_cluster_are_those_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, ray = run(tmp_path, draws=15), FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    there = run(tmp_path, options={"backend": "ray"}, draws=15)
    pd.testing.assert_frame_equal(here.frame, there.frame)
    assert not ray.is_up


def test_without_ray_its_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependency, match=r"--backend ray needs Ray"):
        run(tmp_path, options={"backend": "ray"})


def test_a_process_that_raises_is_refused_with_its_parameters(tmp_path: Path) -> None:
    processes = [{"name": "a", "process": "unequal_clusters", "parameters": {"rows": "many"}}]
    with pytest.raises(
        InputError, match=r"Process unequal_clusters with the parameters .*'rows': 'many'.* raised"
    ):
        run(tmp_path, processes=processes, draws=2)
