"""Items before anybody judges them: copies, personal data, sources, languages, transcripts."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.cli.main import main
from conjury.inference.errors import InputError
from conjury.inference.preparation import clip_transcripts, text_languages
from conjury.inference.preparation.clip_transcripts import ClipTranscript
from conjury.inference.preparation.personal_data import masked, personal_data
from conjury.inference.preparation.prepared_items import PreparationSettings, prepare_items
from conjury.inference.preparation.similar_texts import folded, near_duplicates
from conjury.inference.preparation.text_languages import TextLanguage, is_same_language

JOKE = "The quick brown fox jumps over the lazy dog tonight"
ARABIC = "النكتة التي قالها الرجل كانت مضحكة جدا للجميع"


def items_of(*texts: str, **columns: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame({"item_id": [f"i{n}" for n in range(len(texts))], "text": texts, **columns})


def test_copies_are_marked_by_the_first_of_them_whatever_the_case_spaces_or_signs():
    items = items_of(
        JOKE, JOKE.upper(), f"{JOKE[:9]}  {JOKE[10:]}!", ARABIC, f"{ARABIC}!!", "Something else entirely"
    )
    prepared = prepare_items(items, PreparationSettings())
    assert prepared.items["duplicate_of"].fillna("").tolist() == ["", "i0", "i0", "", "i3", ""]
    assert prepared.tables["duplicates"]["kind"].value_counts().to_dict() == {"nearly the same": 2, "same": 1}
    dropped = prepare_items(items, PreparationSettings(drop=("duplicates",)))
    assert dropped.items["item_id"].tolist() == ["i0", "i3", "i5"]
    assert "3 items left out" in dropped.sentences[-1]


def test_copies_between_dialects_are_counted():
    items = items_of(ARABIC, f"{ARABIC}!", JOKE, JOKE.lower(), dialect=["gulf", "egypt", "gulf", "gulf"])
    prepared = prepare_items(items, PreparationSettings(across="dialect"))
    assert prepared.tables["duplicates"]["across"].tolist() == [True, False]
    assert "Copies between different values of 'dialect': 1 pair." in prepared.sentences


@given(st.lists(st.text("abcd ", min_size=14, max_size=30), max_size=8))
@settings(max_examples=60, deadline=None)
def test_pairs_are_those_whose_letters_have_the_jaccard_index_of_all_pairs_by_hand(texts):
    forms = [folded(text) for text in texts]
    by_hand = []
    sets = [{form[k : k + 5] for k in range(len(form) - 4)} if len(form) >= 12 else set() for form in forms]
    for i in range(len(forms)):
        for j in range(i + 1, len(forms)):
            union = sets[i] | sets[j]
            same = forms[i] == forms[j]
            if union and sets[i] and sets[j] and not same and len(sets[i] & sets[j]) >= 0.8 * len(union):
                by_hand.append([i, j])
    assert near_duplicates(forms, 0.8, "letters").tolist() == by_hand


@pytest.mark.parametrize(("unit", "n", "between"), [("words", 8, " "), ("letters", 12, "")])
def test_texts_of_fewer_words_or_letters_are_nearly_the_same_as_none(unit, n, between):
    for length, pairs in ((n, [[0, 1]]), (n - 1, [])):
        text = between.join("abcdefghijkl"[:length])
        assert near_duplicates([text, f"{text[:-1]}z"], 0.5, unit).tolist() == pairs


FOUND = {
    "write to anna.k+x@mail.example.org please": ["e-mail"],
    "+49 30 1234567 or (030) 123-4567-9": ["telephone number", "telephone number"],
    "IBAN GB82 WEST 1234 5698 7654 32": ["account number"],
    "card 4111 1111 1111 1111": ["card number"],
    "or 3782 822463 10005": ["card number"],
    "from 192.168.0.17": ["IP address"],
    "SSN 123-45-6789": ["social security number"],
    "follow @some_body and https://twitter.com/some_body": ["account name", "profile address"],
    "الهاتف +966 50 123 4567": ["telephone number"],
}
NOTHING = [
    "1 000 000 000 euros on 2024-05-28 at 12:30, 3.141592653589, 50.000.000",
    "card 4111 1111 1111 1112, version 1.2.3, 999.1.1.1, GB83WEST12345698765432",
    "pages 100-120, 2019-2023, 28/05/2024 and a@b",
    "x" * 5000 + "1" * 5000,
]


@pytest.mark.parametrize("text", FOUND)
def test_personal_data_are_recognised_and_masked(text):
    assert [match.kind for match in personal_data(text)] == FOUND[text]
    assert personal_data(masked(text)) == []
    assert masked(text).count("[") == len(FOUND[text])


@pytest.mark.parametrize("text", NOTHING)
def test_amounts_dates_and_numbers_with_wrong_check_digits_are_no_personal_data(text):
    assert personal_data(text) == []


def test_masked_items_have_no_personal_data_in_any_table():
    prepared = prepare_items(items_of("a@example.org writes", JOKE), PreparationSettings(mask=True))
    assert prepared.items["text"].tolist() == ["[e-mail] writes", JOKE]
    assert prepared.items["personal"].fillna("").tolist() == ["e-mail", ""]
    assert not any("example.org" in table.to_csv() for table in prepared.tables.values())


def test_sources_licences_and_languages_are_one_table_and_what_is_missing_is_said():
    items = items_of(
        JOKE,
        ARABIC,
        "x",
        source=["a", "a", None],
        licence=["MIT", "private", ""],
        language=["en", "ar", "en"],
    )
    prepared = prepare_items(items, PreparationSettings())
    assert prepared.tables["sources"]["items"].tolist() == [1, 1, 1]
    assert "Column 'source': 1 source; 1 item without one." in prepared.sentences
    assert any("'private': no SPDX identifier" in sentence for sentence in prepared.sentences)
    without = prepare_items(items[["item_id", "text"]], PreparationSettings())
    assert sum("add one called" in sentence for sentence in without.sentences) == 2


def test_languages_are_compared_with_those_that_are_stated():
    def identify(text: str) -> TextLanguage:
        return TextLanguage(
            "ar" if re.search("[\u0600-\u06ff]", text) else "en", 0.5 if "fox" in text else 0.99
        )

    items = items_of(ARABIC, ARABIC, JOKE, "short", language=["Arabic", "en-GB", "en", "en"])
    prepared = prepare_items(items, PreparationSettings(), identify)
    assert prepared.items["language_identified"].fillna("").tolist() == ["ar", "ar", "", ""]
    assert prepared.items["language_differs"].tolist() == [False, True, False, False]
    assert "Languages: ar: 2; not identified: 2. 1 item in another language" in prepared.sentences[-3]
    assert is_same_language("es", "es_MX")


def test_the_classifier_of_the_extra_identifies_three_languages():
    pytest.importorskip("py3langid")
    identify = text_languages.load_identifier()
    market = "ذهبت إلى السوق اليوم لأشتري الخبز والحليب لأن أمي طلبت مني ذلك"
    texts = [JOKE, market, "Hace mucho calor hoy y no quiero salir de la casa"]
    found = text_languages.identify_languages(texts, identify)
    assert [one.code for one in found if one is not None] == ["en", "ar", "es"]


def test_a_clip_is_transcribed_once_and_its_text_is_searched_too(tmp_path):
    (tmp_path / "clip.mp4").write_bytes(b"")
    asked: list[Path] = []

    def transcribe(path: Path) -> ClipTranscript:
        asked.append(path)
        return ClipTranscript("call me at +49 30 1234567", "en", 90.0)

    items = items_of("", "", "", media=["clip.mp4", "clip.mp4", None])
    prepared = prepare_items(items, PreparationSettings(folder=tmp_path), None, transcribe)
    assert len(asked) == 1
    assert prepared.items["transcript_language"].fillna("").tolist() == ["en", "en", ""]
    assert prepared.items["personal"].fillna("").tolist() == ["telephone number"] * 2 + [""]
    assert prepared.items["duplicate_of"].fillna("").tolist() == ["", "i0", ""]
    assert prepared.sentences[0] == "1 clip (1.5 minutes) transcribed; 0 without speech."
    with pytest.raises(InputError, match=r"Row 1: there is no clip absent.mp4"):
        prepare_items(
            items.assign(media="absent.mp4"), PreparationSettings(folder=tmp_path), None, transcribe
        )


def test_the_command_writes_items_and_a_table_of_each_step(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clip.mp4").write_bytes(b"")
    fake = ClipTranscript("hello there", "en", 3.0)
    monkeypatch.setattr(clip_transcripts, "load_transcriber", lambda model: lambda path: fake)
    monkeypatch.setattr(text_languages, "load_identifier", lambda: lambda text: TextLanguage("en", 1.0))
    items = items_of(JOKE, JOKE, "mail a@example.org", source=["a", "b", "b"], media=["clip.mp4", None, None])
    items.rename(columns={"item_id": "key"}).to_csv("items.csv", index=False)
    assert run(monkeypatch, "prepare items.csv --out out.csv --item key --transcribe --languages") == 0
    table = pd.read_csv("out.csv")
    assert table["transcript"].fillna("").tolist() == ["hello there", "", ""]
    assert sorted(path.name for path in tmp_path.glob("out.*")) == [
        "out.csv",
        "out.personal.csv",
        "out.sources.csv",
    ]
    assert "1 item with personal data: e-mail: 1." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("options", "sentence"), cases(__file__, "refused_options"))
def test_what_cannot_be_prepared_is_asked_about(options, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(clip_transcripts, "load_transcriber", lambda model: lambda path: None)
    pd.DataFrame({"key": [1, 2], "text": ["a", "a"]}).to_csv("items.csv", index=False)
    assert run(monkeypatch, f"prepare items.csv --out out.csv {options}") == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_items_without_text_are_counted_and_tables_of_an_earlier_run_are_not_kept(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"key": [1, 2], "text": ["call a@b.org", "call a@b.org"]}).to_csv("items.csv", index=False)
    assert run(monkeypatch, "prepare items.csv --out out.csv --item key") == 0
    assert sorted(path.name for path in tmp_path.glob("out.*.csv")) == [
        "out.duplicates.csv",
        "out.personal.csv",
    ]
    pd.DataFrame({"key": [1, 2], "text": ["", "a"]}).to_csv("items.csv", index=False)
    capsys.readouterr()
    assert run(monkeypatch, "prepare items.csv --out out.csv --item key") == 0
    assert list(tmp_path.glob("out.*.csv")) == []
    printed = capsys.readouterr().out
    assert "1 item without text." in printed
    assert "2 items in out.csv.\n" in printed


def run(monkeypatch: pytest.MonkeyPatch, line: str) -> int:
    monkeypatch.setattr("sys.argv", ["conjury", *line.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)
