from __future__ import annotations

import pytest

from conjury.inference.errors import InputError
from conjury.inference.parsing.rules import load_phrases, refusal_phrase


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that request.",
        "I\u2019m sorry. As an AI language model, I cannot choose between these posts.",
        "**Sorry**, I won't help you.",
        "Unfortunately, I am unable to rate this.",
        "Lo siento, pero no puedo ayudar con eso.",
        "LO SIENTO MUCHO, NO PUEDO CLASIFICAR ESTE TEXTO",
        "عذرًا، لا أستطيع المساعدة في هذا الطلب.",
        "آسف، ولكن لا يمكنني الإجابة.",
        "很抱歉\uff0c我无法回答。",
    ],
)
def test_refusals_are_found_in_several_languages(text):
    assert refusal_phrase(text)


@pytest.mark.parametrize(
    "text",
    [
        "I can't believe it's not butter.",
        "I'm sorry to say that the first one is worse.",
        "Sorry for the delay.",
        "I will not accept any other format.",
        "The post says: I can't assist with that.",
        "Lo siento por ti, amigo.",
        "",
    ],
)
def test_other_texts_are_no_refusals(text):
    assert not refusal_phrase(text)


def test_a_list_without_version_is_refused(tmp_path):
    path = tmp_path / "refusals.yaml"
    path.write_text("openers: {en: [sorry]}\nrefusals: {en: [no]}\n")
    with pytest.raises(InputError, match="needs a version"):
        load_phrases(path)
