"""The language of each text, by a classifier of the extra ``languages``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from ..errors import MissingDependency

SHORTEST = 20  # letters of a text below which a language is a guess
SURE = 0.9  # probability from which a language counts as identified
NEEDED = (
    "Languages of texts are identified by py3langid, which is not installed; run `pip install "
    "'conjury[languages]'`."
)


@dataclass(frozen=True)
class TextLanguage:
    """The most probable language of a text, and its probability among all languages."""

    code: str
    probability: float


Identifier = Callable[[str], TextLanguage]


def load_identifier() -> Identifier:
    """Load the classifier."""
    if find_spec("py3langid") is None:
        raise MissingDependency(NEEDED)
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    classifier = LanguageIdentifier.from_modelpath(MODEL_DIR / MODEL_FILE, norm_probs=True)

    def identify(text: str) -> TextLanguage:
        code, probability = classifier.classify(text)
        return TextLanguage(str(code), float(probability))

    return identify


def identify_languages(texts: Sequence[str], identify: Identifier) -> list[TextLanguage | None]:
    """The language of each text; None where it has too few letters or no probable one."""
    by_text: dict[str, TextLanguage | None] = {}
    for text in texts:
        if text not in by_text:
            enough = sum(letter.isalpha() for letter in text) >= SHORTEST
            language = identify(text) if enough else None
            by_text[text] = language if language is not None and language.probability >= SURE else None
    return [by_text[text] for text in texts]


def is_same_language(code: str, name: str) -> bool:
    """Whether a stated language, such as ``en-GB`` or ``English``, is the identified one."""
    names = {
        "english": "en",
        "arabic": "ar",
        "spanish": "es",
        "japanese": "ja",
        "german": "de",
        "french": "fr",
    }
    folded = name.strip().casefold().replace("_", "-")
    return names.get(folded, folded.partition("-")[0]) == code
