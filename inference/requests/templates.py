"""The templates of a study: compiled, hashed with all that they include, and filled within limits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import (
    BaseLoader,
    Environment,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    meta,
)
from jinja2.loaders import split_template_path

from ..errors import InputError
from ..tables.contained_paths import read_inside
from ..tables.limits import TEMPLATE_BYTES
from .sandbox import LimitedEnvironment, gathered


def _content(folder: Path, name: str) -> bytes:
    """Content of a template, which lies in the folder of the study."""
    return read_inside(folder / name, folder, TEMPLATE_BYTES)


_TAG = re.compile(r"\{([{%])[-+]?\s*(\w*)(.*?)[}%]\}", re.DOTALL)
_BLOCKS = frozenset(("if", "for", "macro", "call", "filter", "block", "with", "autoescape"))
_BRACKETS = {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}
NESTED = 100  # blocks in blocks, or brackets in brackets; the parser of templates calls itself for each


def _text(folder: Path, name: str) -> str:
    """Text of a template; InputError where it contains a NUL or is nested beyond what can be parsed."""
    text = _content(folder, name).decode("utf-8")
    if (place := text.find("\0")) >= 0:
        line = text.count("\n", 0, place) + 1
        raise InputError(f"{folder / name}:{line}: the template contains a NUL character; take it out.")
    blocks = 0
    for tag in _TAG.finditer(text):
        word = tag[2] if tag[1] == "%" else ""
        blocks += 1 if word in _BLOCKS else -1 if word.startswith("end") and blocks else 0
        brackets = deepest = 0
        for sign in tag[3]:
            brackets += _BRACKETS.get(sign, 0)
            deepest = max(deepest, brackets)
        if max(blocks, deepest) > NESTED:
            line = text.count("\n", 0, tag.start()) + 1
            raise InputError(
                f"{folder / name}:{line}: the template is nested more than {NESTED} levels deep; write it "
                "flat."
            )
    return text


class _Loader(BaseLoader):
    """Reads templates of a folder, and nothing that a link or a path would lead to outside of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        path = self._folder.joinpath(*split_template_path(template))
        if not path.is_file():
            raise TemplateNotFound(template)
        return _text(self._folder, template), str(path), None


class Templates:
    """The templates in a study's folder."""

    # Values are put in as they are: what is judged reaches a template already as JSON or between delimiters,
    # and a template never runs the content of a value.

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _environment(self) -> LimitedEnvironment:
        return LimitedEnvironment(
            loader=_Loader(self.folder),
            undefined=StrictUndefined,
            keep_trailing_newline=False,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            auto_reload=False,
        )

    def load(self, name: str) -> Template:
        """Compile a template; InputError with its file, and the line of a syntax error."""
        try:
            return self._environment.get_template(name)
        except TemplateSyntaxError as error:
            raise InputError(
                f"{self.folder / (error.name or name)}:{error.lineno}: {error.message}; correct the template."
            ) from None
        except RecursionError:
            raise InputError(
                f"{self.folder / name}: blocks of the template are nested too deeply; write it flat."
            ) from None
        except (TemplateError, OSError, ValueError, MemoryError) as error:
            raise InputError(
                f"{self.folder / name}: the template cannot be used ({error}); correct it."
            ) from None

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """Fill a template; InputError where it asks for a value that there is not."""
        return self.fill(self.load(name), name, values)

    def fill(self, template: Template, name: str, values: Mapping[str, Any]) -> str:
        """Fill a compiled template."""
        try:
            return gathered(template.generate(values), self.folder / name).strip()
        except InputError:
            raise
        except Exception as error:  # a template can run into any error of its expressions
            names = ", ".join(sorted(values))
            raise InputError(
                f"{self.folder / name}: the template cannot be filled ({error}); it may use {names}."
            ) from None

    def names(self, name: str) -> set[str]:
        """Name the values that a template and all that it includes ask for."""
        return {
            value
            for part in self._parts(name)
            for value in meta.find_undeclared_variables(self._environment.parse(_text(self.folder, part)))
        }

    def sha256(self, name: str) -> str:
        """Hash of a template and of all templates that it includes, by name and content."""
        digest = hashlib.sha256()
        for part in self._parts(name):
            digest.update(part.encode() + b"\0" + _content(self.folder, part) + b"\0")
        return digest.hexdigest()

    def _parts(self, name: str) -> list[str]:
        parts, waiting = [], [name]
        while waiting:
            part = waiting.pop()
            if part in parts:
                continue
            self.load(part)
            parts.append(part)
            for included in meta.find_referenced_templates(self._environment.parse(_text(self.folder, part))):
                if included is None:
                    raise InputError(
                        f"{self.folder / part}: the template includes a file whose name is computed; write "
                        "the name itself, so that what a prompt says can be traced."
                    )
                waiting.append(self._environment.join_path(included, part))
        return [parts[0], *sorted(parts[1:])]
