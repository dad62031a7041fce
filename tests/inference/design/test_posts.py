"""Posts of the moderation study: every filling of every text, and what profiles look like."""

from __future__ import annotations

import itertools
import re
import time
from datetime import date

import pandas as pd
import pytest

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.design.stimuli import PostKit, load_posts, profile_values
from conjury.inference.design.stimuli.wording import fill
from conjury.inference.errors import InputError
from conjury.inference.study import load_study

VOWEL_SOUND = ("a", "e", "i", "o", "hour")  # what else begins with a vowel sound is not in the texts
EMOJI = re.compile(r"[\u2600-\u27bf\U0001f300-\U0001faff]")


@pytest.fixture(scope="module")
def study():
    return load_study("moderation")


@pytest.fixture(scope="module")
def kit(study):
    return load_posts(study.folder, study.content, profile_values(study))


@pytest.fixture(scope="module")
def fillings(kit):
    kinds = {"none": None, **kit.insults}
    words = {"no_curse": None, "curse": kit.texts.intensifier}
    rows = [
        (name, slur, curse, fill(template.text, kinds[slur], words[curse]))
        for (name, template), slur, curse in itertools.product(kit.texts.templates.items(), kinds, words)
    ]
    return pd.DataFrame(rows, columns=["text_id", "slur", "curse", "text"])


@pytest.fixture(scope="module")
def profiles(study):
    return enumerate_profiles(study)


@pytest.fixture(scope="module")
def some(profiles):
    return profiles.sample(3000, random_state=1)


def forms(kit: PostKit) -> dict[str, list[str]]:
    return {category: list(words.values()) for category, words in kit.insults.items()}


def count_words(words: list[str], text: str) -> int:
    alternatives = "|".join(map(re.escape, sorted(set(words), key=len, reverse=True)))
    return len(re.findall(rf"\b(?:{alternatives})\b", text, re.IGNORECASE))


def test_there_are_fifty_texts_in_fourteen_fillings_each(fillings):
    assert len(fillings) == 50 * 7 * 2
    assert fillings.drop_duplicates(["text_id", "text"]).shape == fillings.shape


@pytest.mark.parametrize(
    "fault",
    [
        r"\s\s|^\s|\s$|\s[.,:;!?]",  # spaces doubled, at the ends or before a mark
        r"[{}|]",  # a place left over
        r"[.!?][\W_]*\s[a-z]",  # a sentence without its capital
        r"^[a-z]",
        r"(\b\w+\b) \1\b",  # a word twice
    ],
)
def test_no_filling_holds_a_fault_of(fault, fillings):
    wrong = fillings.loc[fillings["text"].map(lambda text: re.search(fault, text) is not None), "text"]
    assert wrong.tolist() == []


def test_articles_agree_with_the_word_that_follows(fillings):
    found = [pair for text in fillings["text"] for pair in re.findall(r"\b([Aa]n?) (\w+)", text)]
    wrong = {pair for pair in found if (pair[0].lower() == "an") != pair[1].startswith(VOWEL_SOUND)}
    assert wrong == set()
    assert {article for article, _ in found} == {"a", "an", "A", "An"}


def test_every_filling_ends_as_a_sentence_or_with_an_emoji(fillings):
    assert fillings["text"].map(lambda text: text[-1] in ".!?" or bool(EMOJI.match(text[-1]))).all()


def test_texts_are_of_similar_length(fillings):
    lengths = fillings["text"].str.len()
    assert lengths.between(90, 200).all()
    assert fillings.assign(length=lengths).groupby("text_id")["length"].mean().between(105, 175).all()


def test_an_insult_occurs_once_where_there_is_one_and_never_elsewhere(fillings, kit):
    words = forms(kit)
    for row in fillings.itertuples():
        counts = {category: count_words(words[category], str(row.text)) for category in words}
        assert counts == {category: int(category == row.slur) for category in words}, row.text


def test_the_intensifier_occurs_once_where_there_is_one(fillings, kit):
    counts = fillings["text"].map(lambda text: count_words([kit.texts.intensifier], text))
    assert counts.tolist() == (fillings["curse"] == "curse").astype(int).tolist()


def test_most_texts_hold_an_emoji_of_a_single_code_point(kit):
    texts = [template.text for template in kit.texts.templates.values()]
    assert sum(bool(EMOJI.search(text)) for text in texts) >= 40
    assert not any(mark in text for text in texts for mark in "\ufe0f\u200d")


def test_replies_never_speak_of_an_insult(kit):
    words = [word for words in forms(kit).values() for word in words]
    about = ["insult", "slur", "curse", "swear", "language", "rude", "racist", "sexist", "offensive", "name"]
    replies = [
        reply for template in kit.texts.templates.values() for reply in (template.agree, template.disagree)
    ]
    assert len(set(replies)) == 100
    assert sum(count_words([*words, *about, kit.texts.intensifier], reply) for reply in replies) == 0
    assert all(20 <= len(reply) <= 90 and reply[0].isupper() and reply[-1] in ".!?" for reply in replies)


def test_posts_show_what_their_profiles_say(some, kit):
    posts = kit.posts(some, seed=1)
    words = forms(kit)
    every = zip(some.itertuples(), posts.itertuples(), strict=True)
    for profile, post in every:
        template = kit.texts.templates[str(profile.text)]
        insult = None if profile.slur == "none" else kit.insults[str(profile.slur)]
        assert post.text == fill(template.text, insult, "freaking" if profile.curse == "curse" else None)
        assert count_words(words.get(str(profile.slur), ["idiot"]), str(post.text)) == (
            profile.slur != "none"
        )
        assert post.name == kit.people.authors[str(profile.user)].name
        low, high = {"low": (0, 5), "high": (25, 50)}[str(profile.engagement)]
        assert low <= int(str(post.likes)) <= high
        if profile.reply == "no_reply":
            assert pd.isna(post.reply_text)
            assert pd.isna(post.reply_name)
            assert pd.isna(post.reply_handle)
        else:
            assert post.reply_text == getattr(template, str(profile.reply))


def test_every_likes_count_and_the_whole_range_of_days_occur(some, kit):
    posts = kit.posts(some, seed=1)
    assert set(posts["likes"]) == {*range(6), *range(25, 51)}
    days = {date.fromisoformat(day) for day in posts["posted"].str[:10]}
    assert (min(days), max(days), len(days)) == (date(2025, 1, 1), date(2025, 6, 30), 181)
    assert posts["posted"].str.fullmatch(r"2025-0[1-6]-\d\dT\d\d:\d\d").all()


def test_a_post_depends_on_seed_and_profile_alone(profiles, some, kit):
    start = time.perf_counter()
    whole = kit.posts(profiles, seed=5)
    assert time.perf_counter() - start < 30  # 3 s where measured
    assert whole["profile_id"].tolist() == profiles["profile_id"].tolist()
    subset = kit.posts(some, seed=5)
    pd.testing.assert_frame_equal(subset, whole.loc[some.index])
    other = kit.posts(some, seed=6)
    assert (other["text"] == subset["text"]).all()
    for column in ("likes", "posted", "handle"):
        assert (other[column] != subset[column]).mean() > 0.5


def test_repliers_are_anonymous_and_never_authors(some, kit):
    posts = kit.posts(some, seed=1)
    authors = {person.name for person in kit.people.authors.values()}
    assert set(posts["reply_name"].dropna()).isdisjoint(authors)
    assert posts["reply_name"].dropna().str.fullmatch("[A-Z]{2}").all()
    assert set(posts["reply_handle"].dropna()).isdisjoint(posts["handle"])


def test_names_are_two_letters_for_anonymous_authors_and_two_words_for_others(kit):
    for user, person in kit.people.authors.items():
        pattern = "[A-Z]{2}" if user.startswith("anonymous") else r"[A-Z]\w+ [A-Z]\w+"
        assert re.fullmatch(pattern, person.name), user


def test_black_and_white_authors_share_surnames_within_race_across_gender(kit):
    surnames = {
        group: sorted(
            person.name.split()[1] for user, person in kit.people.authors.items() if user[:-3] == group
        )
        for group in ("black_male", "black_female", "white_male", "white_female")
    }
    assert surnames["black_male"] == surnames["black_female"]
    assert surnames["white_male"] == surnames["white_female"]


def test_handles_are_plain_account_names(some, kit):
    assert kit.posts(some, seed=1)["handle"].str.fullmatch(r"[a-z_]+\d{2,4}").all()


def test_alternative_text_is_one_sentence_that_holds_the_words_shown(some, kit):
    for post in kit.posts(some, seed=1).itertuples():
        shown = [post.name, post.handle, post.text, *([] if pd.isna(post.reply_text) else [post.reply_text])]
        assert all(str(words) in str(post.alt) for words in shown)
        outside = re.sub("“[^”]*”", "", str(post.alt))
        assert outside.count(".") == 1
        assert outside.endswith("like." if post.likes == 1 else "likes.")


def test_other_attribute_names_do_as_well(study, some, kit):
    roles = study.content.roles.model_copy(update={"insult": "speech_kind", "text": "scenario"})
    content = study.content.model_copy(update={"roles": roles})
    names = {"slur": "speech_kind", "text": "scenario"}
    values = {names.get(name, name): levels for name, levels in profile_values(study).items()}
    renamed = load_posts(study.folder, content, values)
    pd.testing.assert_frame_equal(renamed.posts(some.rename(columns=names), seed=1), kit.posts(some, seed=1))


def test_a_profile_that_the_kit_does_not_know_is_refused(some, kit):
    unknown = some.assign(user=some["user"].astype(str).replace("white_male_03", "white_mole_03"))
    with pytest.raises(
        InputError, match=r"'user' contains 'white_mole_03' \(did you mean 'white_male_03'\?\)"
    ):
        kit.posts(unknown, seed=1)
    with pytest.raises(InputError, match="no column 'curse'"):
        kit.posts(some.drop(columns="curse"), seed=1)
