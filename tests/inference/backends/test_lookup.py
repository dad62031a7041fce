"""Recorded answers that ship are found by study and judge."""

import pandas as pd
import pytest

from conjury.inference.backends.lookup import ReplayBackend, shipped_recording
from conjury.inference.errors import InputError


@pytest.mark.long
def test_the_recording_that_ships_answers_for_its_study_and_judge_alone():
    path = shipped_recording("moderation", "smollm2_135m")
    assert set(pd.read_parquet(path, columns=["judge_id"])["judge_id"]) == {"smollm2_135m"}
    assert ReplayBackend(path, "smollm2_135m").settings()["recorded"] == path.name
    with pytest.raises(InputError, match="no recorded responses of judge 'gpt4o' to moderation ship"):
        shipped_recording("moderation", "gpt4o")
