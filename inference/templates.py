"""Prompts as Jinja2 files: rendered in a sandbox, hashed together with all that they include."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta

from .errors import InputError
from .template_limits import LimitedEnvironment, gathered


class Templates:
    """The templates in a study's folder.

    Values are put in as they are: what is judged reaches a template already as JSON or between delimiters,
    and a template never runs what a value holds.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _environment(self) -> LimitedEnvironment:
        return LimitedEnvironment(
            loader=FileSystemLoader(self.folder, encoding="utf-8"),
            undefined=StrictUndefined,
            keep_trailing_newline=False,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            auto_reload=False,
        )

    def load(self, name: str) -> Template:
        """Compile a template; InputError with file and line where it is none."""
        try:
            return self._environment.get_template(name)
        except TemplateSyntaxError as error:
            raise InputError(
                f"{self.folder / (error.name or name)}:{error.lineno}: {error.message}; correct the template."
            ) from None
        except (TemplateError, OSError, UnicodeDecodeError) as error:
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
        except Exception as error:  # a template can run into any error of the expressions that it holds
            known = ", ".join(sorted(values))
            raise InputError(
                f"{self.folder / name}: the template cannot be filled ({error}); it may use {known}."
            ) from None

    def names(self, name: str) -> set[str]:
        """Name the values that a template and all that it includes ask for."""
        return {value for part in self._parts(name) for value in self._asked(part)}

    def _asked(self, part: str) -> set[str]:
        return meta.find_undeclared_variables(self._environment.parse(self._source(part)))

    def _source(self, part: str) -> str:
        return (self.folder / part).read_text(encoding="utf-8")

    def sha256(self, name: str) -> str:
        """Hash of a template and of all templates that it includes, by name and content."""
        digest = hashlib.sha256()
        for part in self._parts(name):
            digest.update(part.encode() + b"\0" + (self.folder / part).read_bytes() + b"\0")
        return digest.hexdigest()

    def _parts(self, name: str) -> list[str]:
        found, waiting = [], [name]
        while waiting:
            part = waiting.pop()
            if part in found:
                continue
            self.load(part)
            found.append(part)
            for included in meta.find_referenced_templates(self._environment.parse(self._source(part))):
                if included is None:
                    raise InputError(
                        f"{self.folder / part}: the template includes a file whose name is computed; write "
                        "the name itself, so that what a prompt says can be traced."
                    )
                waiting.append(self._environment.join_path(included, part))
        return [found[0], *sorted(found[1:])]
