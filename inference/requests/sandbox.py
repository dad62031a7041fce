"""The sandbox in which prompts are filled: no access to Python, and limits to what a template computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from jinja2 import Environment, nodes
from jinja2.environment import TemplateModule
from jinja2.nodes import EvalContext
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Cycler, Joiner, Namespace

from ..errors import InputError
from ..tables.limits import TEMPLATE_CHARACTERS
from . import budget
from .budget import BudgetExceeded, measured, pass_through

METHODS = {  # of values that templates may call; all others could make very much, or change something
    str: {
        *("upper", "lower", "title", "capitalize", "casefold", "swapcase", "strip", "lstrip", "rstrip"),
        *("split", "rsplit", "splitlines", "partition", "rpartition", "startswith", "endswith", "replace"),
        *("join", "find", "rfind", "index", "rindex", "count", "removeprefix", "removesuffix", "format"),
        *("center", "ljust", "rjust", "zfill", "isdigit", "isdecimal", "isnumeric", "isalpha", "isalnum"),
        *("islower", "isupper", "istitle", "isspace", "isascii", "isidentifier", "isprintable"),
    },
    dict: {"items", "keys", "values", "get"},
    list: {"index", "count"},
    tuple: {"index", "count"},
    float: {"is_integer"},
}
OF_TEMPLATES = (
    LoopContext,
    Macro,
    BlockReference,
    TemplateModule,
    Cycler,
    Joiner,
)  # whose methods are Jinja's own
WITHOUT = ("urlize", "xmlattr", "pprint")  # filters for pages of HTML and for programmers
Looped = nodes.For | nodes.Macro | nodes.CallBlock | nodes.Block | nodes.Template


class _Namespace(Namespace):
    """A namespace that does not write out what is in it, which could be in it very often."""

    def __repr__(self) -> str:
        return "<Namespace>"


class LimitedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox that counts passes, characters and time, and refuses results beyond measure."""

    intercepted_binops = frozenset(["*", "**", "%", "+"])

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, finalize=measured, **options)
        self.globals = {
            **{"range": _range, "namespace": _Namespace, "dict": dict},
            **{"cycler": Cycler, "joiner": Joiner},
        }
        filters = {name: call for name, call in self.filters.items() if name not in WITHOUT}
        self.filters = {name: _limit_filter(name, call) for name, call in filters.items()} | {
            "measured": measured
        }
        self.tests = {name: _count_test(call) for name, call in dict[str, Any](self.tests).items()}

    def join_path(self, template: str, parent: str) -> str:
        """Find what a template includes, in the same folder."""
        return str(PurePosixPath(parent).parent / template)

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        return str(super()._generate(_counting(source), name, filename, defer_init))

    def step(self, characters: int) -> str:
        """Count one pass through a loop, macro, block or file, and the characters that are written in it."""
        pass_through()
        budget.spend(characters)
        return ""

    def measured(self, value: Any) -> Any:
        """Count a value that an expression makes."""
        return measured(value)

    def concatenated(self, *parts: object) -> str:
        """Join texts as ``~`` does."""
        budget.fits(sum(map(budget.weight, parts)))
        joined = "".join(map(str, parts))
        budget.spend(len(joined))
        return joined

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Allow values of objects, and the methods of texts, lists and mappings that are in the list."""
        if not super().is_safe_attribute(obj, attr, value):
            return False
        if not callable(value) or isinstance(obj, (*OF_TEMPLATES, Namespace, Undefined)):
            return True
        kind = next((kind for kind in METHODS if isinstance(obj, kind)), None)
        return kind is not None and attr in METHODS[kind]

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call what a template calls, once its arguments and then its result are within limits."""
        name = getattr(__obj, "__name__", "")
        budget.check_arguments(name, getattr(__obj, "__self__", None), args, kwargs)
        return measured(super().call(__context, __obj, *args, **kwargs))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Refuse formats that ask for very wide fields."""
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None
        text = str(value.__self__)

        def limited(*arguments: Any, **keywords: Any) -> str:
            budget.check_braces(text, (*arguments, *keywords.values()))
            return str(wrapped(*arguments, **keywords))

        return limited

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute a product, power, sum or text by format, once its result is known to be short."""
        budget.check_operation(operator, left, right)
        return measured(super().call_binop(context, operator, left, right))


def gathered(pieces: Iterator[str], source: object) -> str:
    """Join what a template writes; InputError where it is more than a prompt can be."""
    texts, length = [], 0
    try:
        with budget.counted():
            for piece in pieces:
                texts.append(piece)
                length += len(piece)
                budget.fits(length)
    except (BudgetExceeded, MemoryError) as error:
        limit = str(error) or "memory"
        raise InputError(
            f"{source}: the template cannot be filled: it exceeds a limit ({limit}); make it compute less."
        ) from None
    return "".join(texts)


def _counting(source: nodes.Template) -> nodes.Template:
    """A template that counts what it computes: operations without a name are calls, passes are steps."""
    template: nodes.Template = _replaced(source)
    if source.environment is not None:
        template.set_environment(source.environment)
    for part in (template, *_looped(template)):
        step = nodes.Call(nodes.EnvironmentAttribute("step"), [nodes.Const(_written(part))], [], None, None)
        part.body.insert(0, nodes.ExprStmt(step, lineno=part.lineno))
    return template


def _looped(template: nodes.Template) -> list[Looped]:
    """Parts of a template that may be passed through several times."""
    return [
        *template.find_all(nodes.For),
        *template.find_all(nodes.Macro),
        *template.find_all(nodes.CallBlock),
        *template.find_all(nodes.Block),
    ]


def _written(part: nodes.Node) -> int:
    """Characters that a part of a template contains."""
    texts = [node.data for node in part.find_all(nodes.TemplateData)]
    texts += [node.value for node in part.find_all(nodes.Const) if isinstance(node.value, str)]
    return sum(map(len, texts))


def _replaced(node: Any) -> Any:
    for field, value in node.iter_fields():
        if isinstance(value, list):
            parts = [_replaced(part) if isinstance(part, nodes.Node) else part for part in value]
            setattr(node, field, parts)
        elif isinstance(value, nodes.Node):
            setattr(node, field, _replaced(value))
    if isinstance(node, nodes.Concat):
        return _call("concatenated", node.nodes, node.lineno)
    if isinstance(node, nodes.AssignBlock) and node.filter is None:
        node.filter = nodes.Filter(None, "measured", [], [], None, None, lineno=node.lineno)
    if isinstance(node, nodes.Compare | nodes.Dict) or _is_made(node):
        return _call("measured", [node], node.lineno)
    return node


def _is_made(node: Any) -> bool:
    """Whether an expression makes a list, or a part of a text."""
    if isinstance(node, nodes.List | nodes.Tuple):
        return getattr(node, "ctx", "load") == "load"
    return isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)


def _call(name: str, arguments: list[nodes.Expr], line: int) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(name), arguments, [], None, None, lineno=line)


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    pass_through(len(numbers))
    return numbers


def _count_test(test: Callable[..., Any]) -> Callable[..., Any]:
    """A test after which the time is looked at; what Jinja notes on it is kept."""

    @wraps(test)
    def limited(*arguments: Any, **keywords: Any) -> Any:
        budget.spend(1)
        return test(*arguments, **keywords)

    return limited


def _limit_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that measures its arguments and its result; what Jinja notes on it is kept."""

    @wraps(function)
    def limited(*arguments: Any, **keywords: Any) -> Any:
        first = sum(isinstance(value, Context | Environment | EvalContext) for value in arguments)
        before, values = arguments[:first], list(arguments[first:])
        if values and isinstance(values[0], Iterator):  # computed now, since nobody knows how long it is
            values[0] = measured(list(islice(values[0], TEMPLATE_CHARACTERS // budget.ELEMENT + 1)))
        budget.check_arguments(name, values[0] if values else None, values[1:], keywords)
        return measured(function(*before, *values, **keywords))

    return limited
