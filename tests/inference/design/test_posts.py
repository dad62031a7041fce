"""Profiles, pairs and posts of the moderation study: every filling of every text, and what profiles show."""

from __future__ import annotations

import itertools
import re
from datetime import date

import numpy as np
import pandas as pd
import pytest

from conjury.inference.design.profiles import (
    add_derived,
    attribute_cells,
    draw_pairs,
    draw_panel,
    level_probabilities,
    panel_table,
    shared_table,
    with_swapped_repeat,
)
from conjury.inference.design.stimuli import PostKit, load_posts, profile_values
from conjury.inference.design.stimuli.posts import _mix
from conjury.inference.design.stimuli.wording import fill
from conjury.inference.errors import InputError
from conjury.inference.tables import validate

# --- profiles and pairs ---------------------------------------------------------------------------


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def even(n: int) -> np.ndarray:
    return np.full(n, 1 / n)


@pytest.mark.long
def test_all_210_000_posts_are_distinct_and_belong_to_their_levels(moderation, profiles):
    assert len(profiles) == 7 * 2 * 50 * 50 * 3 * 2 == 210_000
    varied = ["slur", "identity", "topic", "reply", "curse", "engagement", "text", "user"]
    assert not profiles.duplicated(varied).any()
    assert profiles["profile_id"].is_unique
    for stimulus, attribute in (("text", "topic"), ("user", "identity")):
        assert profiles[stimulus].nunique() == 50
        prefix = profiles[stimulus].astype("str").str.slice(0, -3)
        assert (prefix == profiles[attribute].astype("str")).all()
    assert ((profiles["speech"] == "benign") == (profiles["slur"] == "none")).all()
    partial = pd.DataFrame({"slur": pd.Categorical(["racism", "none", None]), "identity": "black_male"})
    derived = add_derived(moderation, partial)["speech"].astype(object).fillna("?")
    assert derived.tolist() == ["slur", "benign", "?"]


def test_each_kind_of_speech_is_equally_likely(moderation, profiles):
    chances = level_probabilities(moderation).set_index(["feature", "level"])["probability"]
    np.testing.assert_allclose(chances["slur"], 1 / 7)
    np.testing.assert_allclose(chances["speech"], [1 / 7, 6 / 7])
    np.testing.assert_allclose(chances.groupby("feature").sum(), 1)
    shares = profiles.groupby("slur", observed=True)["probability"].sum()
    np.testing.assert_allclose(shares, 1 / 7)
    cells = attribute_cells(moderation)
    assert len(cells) == 2100
    np.testing.assert_allclose(cells["probability"], 1 / 2100)


def test_pairs_are_drawn_without_replacement_until_all_posts_are_used():
    rows = draw_pairs(even(210_000), 30_000, rng(4))
    assert len(np.unique(rows)) == 60_000
    tasks = validate(shared_table(rows), "tasks")
    assert len(tasks) == 60_000
    few = draw_pairs(even(7), 30, rng())
    assert (few[:, 0] != few[:, 1]).all()
    assert all(len(np.unique(few[start : start + 3])) == 6 for start in range(0, 30, 3))
    first, again, other = (draw_pairs(even(1000), 500, rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_unequal_probabilities_are_respected(profiles):
    benign = (profiles["slur"] == "none").to_numpy()
    chance = np.where(benign, 4.0, 1.0)
    rows = draw_pairs(chance / chance.sum(), 5_000, rng(3))
    assert abs(benign[rows].mean() - 0.4) < 0.02


def test_the_first_task_of_a_panel_comes_again_with_positions_swapped():
    rows = draw_panel(even(1000), 40, 15, rng(2))
    tasks = validate(panel_table(with_swapped_repeat(rows), 15), "tasks")
    assert len(tasks) == 40 * 16 * 2
    shown = tasks["profile_id"].to_numpy(dtype=int).reshape(40, 16, 2)
    np.testing.assert_array_equal(shown[:, 15], shown[:, 0, ::-1])
    assert tasks.loc[tasks["repeat"], "task"].unique().tolist() == [16]
    assert tasks["task_id"].nunique() == 40 * 16
    assert not panel_table(rows, 15)["repeat"].any()


def test_a_respondent_never_compares_a_post_with_itself():
    rows = draw_panel(even(3), 200, 20, rng(0))
    assert (rows[..., 0] != rows[..., 1]).all()
    np.testing.assert_allclose(np.bincount(rows.ravel()) / rows.size, 1 / 3, atol=0.02)


@pytest.mark.parametrize(
    ("n", "of", "problem"),
    [*((n, 10, "give at least 1|at least one of each") for n in (0, -3)), (1, 1, "two different profiles")],
)
def test_an_empty_design_and_a_single_profile_are_refused(n, of, problem):
    with pytest.raises(InputError, match=problem):
        draw_pairs(even(of), n, rng())
    with pytest.raises(InputError, match=problem):
        draw_panel(even(of), n, 15, rng())


# --- texts ----------------------------------------------------------------------------------------

VOWEL_SOUND = ("a", "e", "i", "o", "hour")  # what else begins with a vowel sound is not in the texts
EMOJI = re.compile(r"[\u2600-\u27bf\U0001f300-\U0001faff]")
FAULTS = [
    r"\s\s|^\s|\s$|\s[.,:;!?]",  # spaces doubled, at the ends or before a mark
    r"[{}|]",  # a place left over
    r"[.!?][\W_]*\s[a-z]",  # a sentence without its capital
    r"^[a-z]",
    r"(\b\w+\b) \1\b",  # a word twice
]


@pytest.fixture(scope="module")
def kit(moderation):
    return load_posts(moderation.folder, moderation.content, profile_values(moderation))


@pytest.fixture(scope="module")
def fillings(kit):
    kinds = {"none": None, **kit.insults}
    words = {"no_curse": None, "curse": kit.texts.intensifier}
    rows = [
        (name, slur, curse, fill(template.text, kinds[slur], words[curse]))
        for (name, template), slur, curse in itertools.product(kit.texts.templates.items(), kinds, words)
    ]
    return pd.DataFrame(rows, columns=["text_id", "slur", "curse", "text"])


def forms(kit: PostKit) -> dict[str, list[str]]:
    return {category: list(words.values()) for category, words in kit.insults.items()}


def count_words(words: list[str], text: str) -> int:
    alternatives = "|".join(map(re.escape, sorted(set(words), key=len, reverse=True)))
    return len(re.findall(rf"\b(?:{alternatives})\b", text, re.IGNORECASE))


def test_fifty_texts_have_fourteen_fillings_each_without_faults_and_of_similar_length(fillings, kit):
    assert len(fillings) == 50 * 7 * 2
    assert not fillings.duplicated(["text_id", "text"]).any()
    texts = fillings["text"]
    for fault in FAULTS:
        assert [text for text in texts if re.search(fault, text)] == []
    assert all(text[-1] in ".!?" or EMOJI.match(text[-1]) for text in texts)
    lengths = texts.str.len()
    assert lengths.between(90, 200).all()
    assert lengths.groupby(fillings["text_id"]).mean().between(105, 175).all()
    found = [pair for text in texts for pair in re.findall(r"\b([Aa]n?) (\w+)", text)]
    assert {pair for pair in found if (pair[0].lower() == "an") != pair[1].startswith(VOWEL_SOUND)} == set()
    assert {article for article, _ in found} == {"a", "an", "A", "An"}
    raw = [template.text for template in kit.texts.templates.values()]
    assert sum(bool(EMOJI.search(text)) for text in raw) >= 40
    assert not any(mark in text for text in raw for mark in "\ufe0f\u200d")  # of a single code point


def test_insult_and_intensifier_occur_once_where_there_is_one_and_never_elsewhere(fillings, kit):
    words = forms(kit)
    for row in fillings.itertuples():
        counts = {category: count_words(words[category], str(row.text)) for category in words}
        assert counts == {category: int(category == row.slur) for category in words}, row.text
        assert count_words([kit.texts.intensifier], str(row.text)) == (row.curse == "curse"), row.text


def test_replies_never_speak_of_an_insult(kit):
    words = [word for words in forms(kit).values() for word in words]
    about = ["insult", "slur", "curse", "swear", "language", "rude", "racist", "sexist", "offensive", "name"]
    templates = kit.texts.templates.values()
    replies = [reply for template in templates for reply in (template.agree, template.disagree)]
    assert len(set(replies)) == 100
    assert sum(count_words([*words, *about, kit.texts.intensifier], reply) for reply in replies) == 0
    assert all(20 <= len(reply) <= 90 and reply[0].isupper() and reply[-1] in ".!?" for reply in replies)


# --- posts ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def some(profiles):
    return profiles.sample(3000, random_state=1)


@pytest.fixture(scope="module")
def posts(some, kit):
    return kit.posts(some, seed=1)


def test_posts_show_what_their_profiles_contain(some, posts, kit):
    for profile, post in zip(some.itertuples(), posts.itertuples(), strict=True):
        template = kit.texts.templates[str(profile.text)]
        insult = None if profile.slur == "none" else kit.insults[str(profile.slur)]
        assert post.text == fill(template.text, insult, "freaking" if profile.curse == "curse" else None)
        assert post.name == kit.people.authors[str(profile.user)].name
        low, high = {"low": (0, 5), "high": (25, 50)}[str(profile.engagement)]
        assert low <= int(str(post.likes)) <= high
        if profile.reply == "no_reply":
            assert pd.isna([post.reply_text, post.reply_name, post.reply_handle]).all()
        else:
            assert post.reply_text == getattr(template, str(profile.reply))
        shown = [post.name, post.handle, post.text, *([] if pd.isna(post.reply_text) else [post.reply_text])]
        assert all(str(words) in str(post.alt) for words in shown)
        outside = re.sub("“[^”]*”", "", str(post.alt))  # the alternative text is one sentence
        assert outside.count(".") == 1
        assert outside.endswith("like." if post.likes == 1 else "likes.")


def test_every_likes_count_and_the_whole_range_of_days_occur(posts):
    assert set(posts["likes"]) == {*range(6), *range(25, 51)}
    days = {date.fromisoformat(day) for day in posts["posted"].str[:10]}
    assert (min(days), max(days), len(days)) == (date(2025, 1, 1), date(2025, 6, 30), 181)
    assert posts["posted"].str.fullmatch(r"2025-0[1-6]-\d\dT\d\d:\d\d").all()


@pytest.mark.long
def test_a_post_depends_on_seed_and_profile_alone(profiles, some, posts, kit):
    many = profiles.iloc[np.union1d(np.arange(0, len(profiles), 7), some.index)]
    whole = kit.posts(many, seed=1)
    assert whole["profile_id"].tolist() == many["profile_id"].tolist()
    pd.testing.assert_frame_equal(posts, whole.loc[some.index])
    other = kit.posts(some, seed=6)
    assert (other["text"] == posts["text"]).all()
    assert ((other != posts)[["likes", "posted", "handle"]].mean() > 0.5).all()


def test_profiles_are_mixed_by_the_finaliser_of_splitmix64():
    """The first two numbers of the generator with seed 0 (reference code by S. Vigna)."""
    states = np.array([0, 0x9E3779B97F4A7C15], dtype=np.uint64)
    assert _mix(states).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_names_and_handles_are_those_of_authors_and_repliers(posts, kit):
    authors = kit.people.authors
    assert posts["handle"].str.fullmatch(r"[a-z_]+\d{2,4}").all()
    assert set(posts["reply_name"].dropna()).isdisjoint(person.name for person in authors.values())
    assert posts["reply_name"].dropna().str.fullmatch("[A-Z]{2}").all()
    assert set(posts["reply_handle"].dropna()).isdisjoint(posts["handle"])
    surnames: dict[str, list[str]] = {}
    for user, person in authors.items():
        pattern = "[A-Z]{2}" if user.startswith("anonymous") else r"[A-Z]\w+ [A-Z]\w+"
        assert re.fullmatch(pattern, person.name), user
        surnames.setdefault(user[:-3], []).append(person.name.split()[-1])
    for race in ("black", "white"):
        assert sorted(surnames[f"{race}_male"]) == sorted(surnames[f"{race}_female"])


def test_other_attribute_names_do_as_well(moderation, some, posts):
    roles = moderation.content.roles.model_copy(update={"insult": "speech_kind", "text": "scenario"})
    content = moderation.content.model_copy(update={"roles": roles})
    names = {"slur": "speech_kind", "text": "scenario"}
    values = {names.get(name, name): levels for name, levels in profile_values(moderation).items()}
    renamed = load_posts(moderation.folder, content, values)
    pd.testing.assert_frame_equal(renamed.posts(some.rename(columns=names), seed=1), posts)


def test_a_profile_that_the_kit_does_not_know_is_refused(some, kit):
    unknown = some.assign(user=some["user"].astype(str).replace("white_male_03", "white_mole_03"))
    with pytest.raises(InputError, match=r"'user' contains 'white_mole_03' \(did you mean 'white_male_03'"):
        kit.posts(unknown, seed=1)
    with pytest.raises(InputError, match="no column 'curse'"):
        kit.posts(some.drop(columns="curse"), seed=1)
