"""The sandbox in which prompts are filled: no access to Python, and limits to what a template computes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, wraps
from pathlib import Path, PurePosixPath
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
    nodes,
)
from jinja2.loaders import split_template_path
from jinja2.nodes import EvalContext
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ..errors import InputError
from ..tables.inside import read_inside
from ..tables.limits import TEMPLATE_BYTES, TEMPLATE_CHARACTERS, TEMPLATE_STEPS

_WIDTH = re.compile(r"%[-+ #0]*(\d{6}|\*|\d*\.(\d{6}|\*))")  # in a format with %
_FIELD = re.compile(r"\{[^{}]*:[^{}]*(\d{6}|\{)")  # in a format with braces
_WIDE_CALLS = (
    "center",
    "just",
    "zfill",
    "expandtabs",
    "indent",
    "wordwrap",
    "batch",
    "slice",
    "lorem",
    "range",
)
_WIDE = "a format asks for a very wide field"
_LARGEST = 10_000  # of a whole number that goes into a function or a filter
_steps: ContextVar[list[int]] = ContextVar("steps")


class TooMuch(Exception):
    """A template computes more than the limits allow."""


class LimitedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox that counts passes through loops and macros, and refuses results beyond measure."""

    intercepted_binops = frozenset(["*", "**", "%", "+"])

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.globals["range"] = _range
        self.filters = {name: _checked(call) for name, call in self.filters.items()}

    def join_path(self, template: str, parent: str) -> str:
        """Find what a template includes, in the same folder."""
        return str(PurePosixPath(parent).parent / template)

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        looped: list[nodes.For | nodes.Macro | nodes.CallBlock] = [
            *source.find_all(nodes.For),
            *source.find_all(nodes.Macro),
            *source.find_all(nodes.CallBlock),
        ]
        for part in looped:
            step = nodes.Call(nodes.EnvironmentAttribute("step"), [], [], None, None)
            part.body.insert(0, nodes.ExprStmt(step, lineno=part.lineno))
        return str(super()._generate(_joined(source), name, filename, defer_init))

    def step(self) -> str:
        """Count one pass through a loop or a macro."""
        return _count(1)

    def concatenated(self, *parts: object) -> str:
        """Join texts as ``~`` does."""
        joined = "".join(map(str, parts))
        _fits(len(joined))
        return joined

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call what a template calls, once its arguments and then its result are within limits."""
        _check_arguments(getattr(__obj, "__self__", None), __obj, args, kwargs)
        return _short(super().call(__context, __obj, *args, **kwargs))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Refuse formats that ask for very wide fields."""
        if isinstance(getattr(value, "__self__", None), str) and _FIELD.search(value.__self__):
            raise TooMuch(_WIDE)
        return super().wrap_str_format(value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute a product, power, sum or text by format, once its result is known to be short."""
        if operator == "%" and isinstance(left, str) and _WIDTH.search(left):
            raise TooMuch(_WIDE)
        if operator in ("*", "**"):
            for one, other in ((left, right), (right, left)):
                if isinstance(one, (str, bytes, list, tuple)) and isinstance(other, int):
                    _fits(len(one) * max(other, 0))
        if operator == "**" and isinstance(left, int) and isinstance(right, int) and right > 0:
            _fits(left.bit_length() * right)
        return _short(super().call_binop(context, operator, left, right))


@contextmanager
def counted() -> Iterator[None]:
    """Begin to count the steps of one template anew."""
    token = _steps.set([0])
    try:
        yield
    finally:
        _steps.reset(token)


def gathered(pieces: Iterator[str], source: object) -> str:
    """Join what a template writes; InputError where it is more than a prompt can be."""
    texts, length = [], 0
    try:
        with counted():
            for piece in pieces:
                texts.append(piece)
                length += len(piece)
                _fits(length)
    except TooMuch as error:
        raise InputError(
            f"{source}: the template cannot be filled: it exceeds a limit ({error}); make it compute less."
        ) from None
    return "".join(texts)


def _joined(source: nodes.Template) -> nodes.Template:
    """A template in which ``~`` is a call, so that its result can be measured."""

    def replaced(node: Any) -> Any:
        for field, value in node.iter_fields():
            if isinstance(value, list):
                setattr(
                    node, field, [replaced(part) if isinstance(part, nodes.Node) else part for part in value]
                )
            elif isinstance(value, nodes.Node):
                setattr(node, field, replaced(value))
        if isinstance(node, nodes.Concat):
            joining = nodes.EnvironmentAttribute("concatenated")
            return nodes.Call(joining, node.nodes, [], None, None, lineno=node.lineno)
        return node

    made: nodes.Template = replaced(source)
    if source.environment is not None:
        made.set_environment(source.environment)
    return made


def _range(*bounds: int) -> range:
    made = range(*bounds)
    _count(len(made))
    return made


def _count(steps: int) -> str:
    counter = _steps.get([0])
    counter[0] += steps
    if counter[0] > TEMPLATE_STEPS:
        raise TooMuch(f"{TEMPLATE_STEPS:,} passes through loops")
    return ""


def _fits(size: int) -> None:
    if size > TEMPLATE_CHARACTERS:
        raise TooMuch(f"{TEMPLATE_CHARACTERS:,} characters")


def _short(value: Any) -> Any:
    if isinstance(value, (str, list, tuple)):
        _fits(len(value))
    return value


def _check_arguments(text: Any, function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Refuse very large numbers, and replacements and formats whose result could be very long."""
    given = (*arguments, *keywords.values())
    name = getattr(function, "__name__", "")
    if any(wide in name for wide in _WIDE_CALLS) and any(
        isinstance(value, int) and abs(value) > _LARGEST for value in given
    ):
        raise TooMuch(f"{_LARGEST:,} as an argument of {name.removeprefix('do_')}")
    if name in ("replace", "do_replace") and isinstance(text, str) and len(given) > 1:
        _fits(len(text) + text.count(str(given[0])) * len(str(given[1])))
    if name == "do_format" and isinstance(text, str) and _WIDTH.search(text):
        raise TooMuch(_WIDE)


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that measures its whole numbers and its result; what Jinja notes on it is kept."""

    @wraps(function)
    def limited(*arguments: Any, **keywords: Any) -> Any:
        texts = [value for value in arguments if not isinstance(value, (Context, Environment, EvalContext))]
        _check_arguments(texts[0] if texts else None, function, texts[1:], keywords)
        return _short(function(*arguments, **keywords))

    return limited


def _content(folder: Path, name: str) -> bytes:
    """Content of a template, which lies in the folder of the study."""
    return read_inside(folder / name, folder, TEMPLATE_BYTES)


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
        return _content(self._folder, template).decode("utf-8"), str(path), None


class Templates:
    """The templates in a study's folder.

    Values are put in as they are: what is judged reaches a template already as JSON or between delimiters,
    and a template never runs the content of a value.
    """

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
        """Compile a template; InputError with file and line where it is none."""
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
        except Exception as error:  # a template can run into any error of its expressions
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
        return _content(self.folder, part).decode("utf-8")

    def sha256(self, name: str) -> str:
        """Hash of a template and of all templates that it includes, by name and content."""
        digest = hashlib.sha256()
        for part in self._parts(name):
            digest.update(part.encode() + b"\0" + _content(self.folder, part) + b"\0")
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
