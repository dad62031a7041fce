"""Languages of the pages: catalogues of all strings, which ship or lie next to a study file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import yaml

from ...errors import InputError
from ...tables.contained_paths import require_inside
from ...tables.files import ROOT, shipped_names

SHIPPED = ROOT / "data" / "panel" / "languages"
ENGLISH = "en"
DIRECTIONS = ("ltr", "rtl")
APART = "researcher."  # strings that people do not see, English where a language has none


@dataclass(frozen=True)
class Catalogue:
    """Strings of the pages in one language, by dotted keys."""

    code: str
    strings: Mapping[str, str]

    @property
    def name(self) -> str:
        """How the language calls itself."""
        return self.strings["name"]

    @property
    def direction(self) -> str:
        """Direction of the script: ltr or rtl."""
        return self.strings["direction"]

    def __call__(self, key: str, **values: object) -> str:
        """Return a string, with values in the place of what is in braces."""
        text = self.strings[key]
        return text.format(**values) if values else text


def load_catalogues(codes: Sequence[str], folder: Path | None = None) -> dict[str, Catalogue]:
    """Read the catalogues of languages, by code."""
    return {code: _catalogue(code, None if folder is None else folder / "languages") for code in codes}


def _catalogue(code: str, folder: Path | None) -> Catalogue:
    shipped, added = SHIPPED / f"{code}.yaml", None if folder is None else folder / f"{code}.yaml"
    english = _read(SHIPPED / f"{ENGLISH}.yaml")
    strings = {key: text for key, text in english.items() if key.startswith(APART)}
    path = shipped
    if shipped.is_file():
        strings |= _read(shipped)
    if added is not None and added.is_file():
        path = require_inside(added, added.parents[1])  # the folder of the study
        strings |= _read(path)
    elif not shipped.is_file():
        names = ", ".join(shipped_names(SHIPPED))
        raise InputError(
            f"panel.languages: there are no strings for '{code}'; languages that ship are {names}, so write "
            f"languages/{code}.yaml next to the study file, after the form of {SHIPPED / 'en.yaml'}."
        )
    _check(path, strings, english)
    return Catalogue(code, strings)


def _check(path: Path, strings: Mapping[str, str], english: Mapping[str, str]) -> None:
    """Refuse a catalogue that differs from English in its keys or in what is in braces."""
    missing, unknown = sorted(set(english) - set(strings)), sorted(set(strings) - set(english))
    if missing:
        raise InputError(
            f"{path}: {len(missing)} strings are missing, such as '{missing[0]}'; translate those of en.yaml."
        )
    if unknown:
        raise InputError(f"{path}: no page has a string '{unknown[0]}'; correct its name.")
    for key, text in strings.items():
        if _braces(path, key, text) != _braces(path, key, english[key]):
            raise InputError(
                f"{path}, {key}: '{text}' has other names in braces than '{english[key]}'; use the same."
            )
    if strings["direction"] not in DIRECTIONS:
        raise InputError(f"{path}, direction: '{strings['direction']}' is no direction; write ltr or rtl.")


def _braces(path: Path, key: str, text: str) -> set[str]:
    try:
        parsed = [part[1:] for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise InputError(f"{path}, {key}: '{text}' has a brace without its partner; {error}.") from None
    if any(form or conversion for _, form, conversion in parsed):  # such as a width of a thousand million
        raise InputError(f"{path}, {key}: '{text}' formats what is in braces; write the name alone.")
    return {str(name) for name, _, _ in parsed}


@cache
def _read(path: Path) -> dict[str, str]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: this is no YAML file of strings ({error}); correct it.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: this is no mapping of strings; write it after the form of en.yaml.")
    return dict(_flat(content, path, ""))


def _flat(content: Mapping[Any, Any], path: Path, before: str) -> Iterator[tuple[str, str]]:
    for key, value in content.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, path, f"{name}.")
        elif isinstance(value, str) and value.strip():
            yield name, value
        else:
            raise InputError(f"{path}, {name}: this is no text; write one, in quotation marks if need be.")


def choose_language(header: str, codes: Sequence[str]) -> str:
    """Choose among languages by what a browser accepts; the first of them where it accepts none."""
    wishes: list[tuple[float, str]] = []
    for part in header.split(",")[:20]:
        tag, *parameters = (each.strip().lower() for each in part.split(";"))
        weights = [
            value.strip()
            for name, _, value in (each.partition("=") for each in parameters)
            if name.strip() == "q"
        ]
        try:
            wishes.append((float(weights[0]) if weights else 1.0, tag))
        except ValueError:
            continue
    for preference, language in sorted(wishes, key=lambda wish: -wish[0]):
        for code in codes:
            same = code.lower().partition("-")[0] == language.partition("-")[0]
            if preference > 0 and language and same:
                return code
    return codes[0]
