"""Catalogues of strings: complete, checked, and those of a study."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.panel.pages.steps import Ended
from conjury.inference.panel.visits import Reason
from conjury.inference.panel.web.languages import SHIPPED, choose_language, load_catalogues
from conjury.inference.panel.web.visit_pages import markdown, scale_field
from conjury.inference.study.asking import Scale

ENGLISH = yaml.safe_load((SHIPPED / "en.yaml").read_text(encoding="utf-8"))


def write(folder: Path, code: str, content: object) -> Path:
    (folder / "languages").mkdir(exist_ok=True)
    path = folder / "languages" / f"{code}.yaml"
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return folder


@pytest.mark.parametrize("code", ["en", "es"])
def test_shipped_languages_have_a_sentence_for_every_end_and_reason(code):
    text = load_catalogues([code])[code]
    for ended in Ended.__args__:
        assert text(f"ends.{ended}.title")
        assert text(f"ends.{ended}.text")
    for reason in Reason.__args__:
        assert text(f"errors.{reason}")


def test_spanish_translates_every_sentence():
    english, spanish = load_catalogues(["en", "es"]).values()
    same = {key for key, text in english.strings.items() if spanish.strings[key] == text}
    assert same == {"direction"}


def test_a_study_changes_single_sentences(tmp_path):
    text = load_catalogues(["en"], write(tmp_path, "en", {"welcome": {"start": "Begin"}}))["en"]
    assert text("welcome.start") == "Begin"
    assert text("continue") == "Continue"


@pytest.mark.parametrize(("content", "sentence"), cases(__file__, "catalogues"))
def test_a_wrong_catalogue_is_refused_with_its_file(tmp_path, content, sentence):
    if "missing" not in sentence and isinstance(content, dict):
        content = ENGLISH | content
    with pytest.raises(InputError, match=sentence) as refused:
        load_catalogues(["de"], write(tmp_path, "de", content))
    assert "de.yaml" in str(refused.value)


def test_a_language_without_a_catalogue_is_refused(tmp_path):
    with pytest.raises(InputError, match="no strings for 'de'; languages that ship are en, es"):
        load_catalogues(["de"], tmp_path)


@pytest.mark.parametrize(("header", "code"), cases(__file__, "headers"))
def test_the_language_is_the_one_that_the_browser_prefers(header, code):
    assert choose_language(header, ["en", "es"]) == code


@pytest.mark.parametrize(
    "text",
    ["<script>x</script>", "<img src=x onerror=x>", "[x](javascript:x)", "![x](http://a/b.png)", "<b>x</b>"],
)
def test_markdown_shows_html_as_text_and_loads_nothing(text):
    html = str(markdown(text))
    assert not [tag for tag in ("<script", "<img", 'href="javascript', "<b>") if tag in html]


def test_a_link_of_a_page_opens_another_one():
    link = '<a href="https://a.org" rel="noreferrer noopener" target="_blank">x</a>'
    assert link in str(markdown("[x](https://a.org)"))


def test_a_long_scale_is_asked_as_a_number_within_its_limits():
    scale = Scale(id="pain", label="How much pain?", minimum=0, maximum=100)
    field = scale_field(scale, load_catalogues(["en"])["en"])
    assert (field.name, field.label, field.form) == ("pain", "How much pain?", "number")
    assert (field.minimum, field.maximum, field.options) == (0, 100, ())
