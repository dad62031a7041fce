"""What pictures of profiles show, under each kind of cues; hiding a cue moves nothing else."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from fakes.studies import towns, write_study
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.design.stimuli import load_posts, profile_values
from conjury.inference.design.stimuli.posts import PostAuthors, PostKit
from conjury.inference.errors import InputError
from conjury.inference.study import Study, load_study
from conjury.inference.study.asking import Cues
from conjury.inference.tables.files import LAYOUTS
from conjury.inference.vignettes import Faces, Job, open_job, vignette_records
from conjury.inference.vignettes.jobs.drawing_jobs import check_ablation
from conjury.inference.vignettes.jobs.store import study_faces

CUES = ("both", "name", "face", "none")
GROUPS = ("black_male", "black_female", "white_male", "white_female")
REPLY = ["reply_name", "reply_handle", "reply_face", "reply_text"]
STUDY = load_study("moderation")


@cache
def profiles() -> pd.DataFrame:
    return enumerate_profiles(STUDY)


@cache
def some() -> pd.DataFrame:
    return profiles().sample(600, random_state=4)


@cache
def faces() -> Faces:
    return study_faces(STUDY)


def authors() -> pd.Series[str]:
    return some()["user"].astype("string")


def anonymous() -> NDArray[np.bool_]:
    """Which of the profiles have an anonymous author."""
    return authors().str.startswith("anonymous").to_numpy(dtype=bool)


@cache
def kit() -> PostKit:
    return load_posts(STUDY.folder, STUDY.content, profile_values(STUDY))


@pytest.fixture(scope="module")
def shown() -> dict[str, pd.DataFrame]:
    return {cues: vignette_records(STUDY, some(), cues, 1, faces()) for cues in CUES}


def changed(folder: Path, change: dict[str, Any]) -> Study:
    """Return the moderation study with fields of its content replaced, or removed where they are None."""
    shutil.copytree(STUDY.folder, folder / "study", dirs_exist_ok=True)
    path = folder / "study" / "study.yaml"
    text = yaml.safe_load(path.read_text(encoding="utf-8"))
    text["content"] = {key: value for key, value in (text["content"] | change).items() if value is not None}
    text["prompts"] = [prompt for prompt in text["prompts"] if "cues" not in prompt]
    path.write_text(yaml.safe_dump(text, sort_keys=False), encoding="utf-8")
    return load_study(path)


@pytest.mark.long
def test_records_show_the_posts_of_the_study(shown):
    posts = kit().posts(some(), 1)
    both = shown["both"]
    assert list(both) == ["profile_id", "name", "handle", "face", "text", "likes", "posted", *REPLY, "alt"]
    common = [name for name in both if name in posts and name != "alt"]
    pd.testing.assert_frame_equal(both[common], posts[common])
    assert (both["face"] == authors()).all()
    nothing = vignette_records(STUDY, profiles().head(0), "name", 1)  # the faces are read as well
    assert len(nothing) == 0
    assert nothing.dtypes.equals(shown["name"].dtypes)
    for table in shown.values():
        assert set(table["face"]) | set(table["reply_face"].dropna()) <= set(faces().sources)
        assert (table["reply_face"].isna() == table["reply_text"].isna()).all()
        assert table["reply_face"].dropna().str.fullmatch(r"replier_\d\d").all()
        assert not table.drop(columns=REPLY).isna().any(axis=None)


@pytest.mark.parametrize(
    ("cues", "hidden"),
    [("name", {"face"}), ("face", {"name", "handle"}), ("none", {"name", "handle", "face"})],
)
def test_cues_change_nothing_but_what_they_hide(shown, cues, hidden):
    both, ablated = shown["both"], shown[cues]
    for column in both.columns.drop("alt"):
        same = (both[column] == ablated[column]) | (both[column].isna() & ablated[column].isna())
        assert same[anonymous()].all(), column
        assert same[~anonymous()].all() if column not in hidden else not same[~anonymous()].any(), column
    assert ((both["alt"] == ablated["alt"]) == anonymous()).all()


def test_the_anonymous_author_of_the_same_number_stands_in_with_the_pattern_of_the_account(shown):
    numbers = authors().str[-2:]
    assert (shown["name"]["face"] == "anonymous_" + numbers).all()
    names = kit().people.authors
    stand_ins = [names[f"anonymous_{number}"].name for number in numbers]
    for cues in ("face", "none"):
        assert shown[cues]["name"].tolist() == stand_ins
        pairs = zip(stand_ins, shown[cues]["handle"], strict=True)
        assert all(name.lower() in handle for name, handle in pairs)
    pd.testing.assert_series_equal(shown["face"]["handle"], shown["none"]["handle"])
    own, stand_in = shown["both"]["handle"], shown["none"]["handle"]
    assert (own.str.extract(r"(\d+)$")[0] == stand_in.str.extract(r"(\d+)$")[0]).all()
    its = own[~anonymous()].str.startswith("its_")
    assert (its == stand_in[~anonymous()].str.startswith("its_")).all()


def test_what_is_hidden_no_longer_depends_on_the_group():
    of_six = profiles()["user"].astype(str).str.endswith("_06")
    twins = profiles()[(profiles()["text"] == "work_03") & of_six].groupby("identity", observed=True)
    records = {
        group: vignette_records(STUDY, rows.assign(profile_id=7), "none", 1, faces()).reset_index(drop=True)
        for group, rows in twins
    }
    assert set(records) == {"anonymous", *GROUPS}
    for rows in records.values():
        pd.testing.assert_frame_equal(rows, records["anonymous"])


@pytest.mark.long
@given(st.lists(st.integers(0, 209_999), max_size=30), st.sampled_from(CUES), st.integers(0, 9))
@settings(max_examples=8, deadline=None)
def test_a_row_depends_on_no_other(rows, cues, seed):
    asked = profiles().iloc[rows]
    together = vignette_records(STUDY, asked, cues, seed, faces())
    assert together["profile_id"].tolist() == asked["profile_id"].tolist()
    slices = [asked.iloc[at : at + 7] for at in range(0, len(rows), 7)]
    if slices:
        parts = [vignette_records(STUDY, part, cues, seed, faces()) for part in slices]
        pd.testing.assert_frame_equal(pd.concat(parts), together)


def test_alternative_text_describes_the_picture(shown):
    for table in shown.values():
        for row in table.head(150).itertuples():
            alt, replied = str(row.alt), not pd.isna(row.reply_text)
            expected = [row.name, row.handle, row.text, faces().describe(str(row.face)), str(row.posted)[11:]]
            expected.append(f"on {pd.Timestamp(str(row.posted)):%-d %B %Y} at ")
            if replied:
                face = faces().describe(str(row.reply_face))
                expected += [row.reply_name, row.reply_handle, row.reply_text, face]
            assert all(str(words) in alt for words in expected), alt
            assert f"with {row.likes} like{'s' if row.likes != 1 else ''}." in alt
            outside = re.sub("“[^”]*”", "", alt)
            assert outside.count(".") == 1
            assert ("reply" in outside) == replied


def test_alternative_text_contains_no_hidden_identity(shown):
    labels = "|".join(STUDY.level_labels["identity"][group] for group in GROUPS)
    named = {cues: table["alt"].str.contains(labels).to_numpy(dtype=bool) for cues, table in shown.items()}
    assert (named["both"] == ~anonymous()).all()
    assert (named["face"] == ~anonymous()).all()
    assert not named["name"].any()
    assert not named["none"].any()
    names = shown["both"]["name"]
    for cues in ("face", "none"):
        hidden = zip(names[~anonymous()], shown[cues]["alt"][~anonymous()], strict=True)
        assert not any(
            name in alt or name.split()[0].lower() in alt.split("saying")[0] for name, alt in hidden
        )


def test_profiles_without_content_show_their_levels(tmp_path):
    study = load_study(write_study(tmp_path, towns()))
    table = vignette_records(study, enumerate_profiles(study), "both", 1)
    assert list(table) == ["profile_id", *study.feature_labels.values(), "alt"]
    assert table["alt"].iloc[1] == "Size: Small; Place: Inland; Age: Old; River: Dry; Trains: Often."
    assert study_faces(study) == Faces({}, {})
    told = r"^The study towns has no content .*cues 'face' .*; ask for both\.$"
    with pytest.raises(InputError, match=told):
        vignette_records(study, enumerate_profiles(study), "face", 1)


@pytest.mark.long
def test_studies_without_anonymous_authors_or_faces_are_refused(tmp_path):
    study = changed(tmp_path / "roles", {"roles": {"anonymous": "anonymus"}})
    told = r"^Cues 'name' need .* 'anonymus' \(did you mean 'anonymous'\?\); name the level of identity .*\.$"
    with pytest.raises(InputError, match=told):
        vignette_records(study, some(), "name", 1, faces())
    assert len(vignette_records(study, some(), "both", 1, faces())) == len(some())
    study = changed(tmp_path / "faces", {"faces": None})
    with pytest.raises(InputError, match=r"^The study moderation names no faces; write `faces:`"):
        vignette_records(study, some(), "both", 1)


def test_groups_of_different_size_have_no_stand_ins():
    fewer = {name: person for name, person in kit().people.authors.items() if name != "anonymous_09"}
    smaller = replace(kit(), people=PostAuthors(fewer, kit().people.repliers))
    with pytest.raises(InputError, match=r"^No author anonymous_09 .* replace black_male_09, .*both cues\.$"):
        smaller.signed(some()[~anonymous()], 1, "name")
    assert len(smaller.signed(some()[~anonymous()], 1, "both")) == (~anonymous()).sum()


@pytest.mark.slow
def test_layouts_that_ship_move_nothing_and_one_in_which_names_take_several_lines_is_refused(fonts, tmp_path):
    layout = yaml.safe_load((LAYOUTS / "post.yaml").read_text(encoding="utf-8"))
    layout["styles"]["name"]["size"] = 120
    (tmp_path / "huge.yaml").write_text(yaml.safe_dump(layout), encoding="utf-8")
    one_text = profiles()[profiles()["text"] == "politics_03"]

    def check(cues: Cues, layout: Path | str = tmp_path / "huge.yaml") -> None:
        check_ablation(open_job(Job(STUDY, cues, str(layout), "light", "png", 1)), one_text)

    for cues in CUES:
        check(cues, "post")
    check("both")
    check("name")
    told = r"profile \d+: with cues face, layout .*huge\.yaml changes more than the cue"
    with pytest.raises(InputError, match=told):
        check("face")
