"""Before pictures without a name are drawn: nothing else may stand elsewhere in them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.errors import InputError
from conjury.inference.study import Study, load_study
from conjury.inference.study.asking import Cues
from conjury.inference.tables.files import LAYOUTS
from conjury.inference.vignettes.ablations import check_ablation
from conjury.inference.vignettes.fonts import Fonts
from conjury.inference.vignettes.jobs import Desk, Job, open_desk


@pytest.fixture(scope="module")
def study() -> Study:
    return load_study("moderation")


@pytest.fixture(scope="module")
def profiles(study: Study) -> pd.DataFrame:
    everything = enumerate_profiles(study)
    return everything[everything["text"].isin(["everyday_00", "politics_03"])]


@pytest.mark.parametrize("cues", ["both", "name", "face", "none"])
def test_layouts_that_ship_move_nothing(
    study: Study, profiles: pd.DataFrame, fonts: Fonts, cues: str
) -> None:
    check_ablation(open_desk(Job(study, cues, "post", "light", "png", 1)), profiles)


def test_a_layout_in_which_names_take_several_lines_is_refused(
    study: Study, profiles: pd.DataFrame, fonts: Fonts, tmp_path: Path
) -> None:
    layout = yaml.safe_load((LAYOUTS / "post.yaml").read_text(encoding="utf-8"))
    layout["styles"]["name"]["size"] = 120
    (tmp_path / "huge.yaml").write_text(yaml.safe_dump(layout), encoding="utf-8")

    def desk(cues: Cues) -> Desk:
        return open_desk(Job(study, cues, str(tmp_path / "huge.yaml"), "light", "png", 1))

    check_ablation(desk("both"), profiles)
    check_ablation(desk("name"), profiles)
    with pytest.raises(InputError, match=r"profile \d+: with cues face more would change in layout .*huge"):
        check_ablation(desk("face"), profiles)
