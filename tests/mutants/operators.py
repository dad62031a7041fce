"""The changes: operators of cosmic-ray that change numbers and rules, and a few of ours in its terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.operators.provider import OperatorProvider

Node = Any  # parso has no types
parse: Any = parso.parse
Position = tuple[tuple[int, int], tuple[int, int]]

PAIRS = (
    ("lower", "upper"),
    ("low", "high"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("nanmin", "nanmax"),
    ("argmin", "argmax"),
    ("idxmin", "idxmax"),
    ("smallest", "largest"),
    ("fewest", "most"),
    ("first", "last"),
    ("head", "tail"),
    ("left", "right"),
    ("any", "all"),
    ("floor", "ceil"),
)
OPPOSITE = {**dict(PAIRS), **{right: left for left, right in PAIRS}}
TOLERANCE = 1e-5  # numbers below it allow for rounding
BUILTIN = {"min", "max", "any", "all"}
# Whose first two arguments may be exchanged without effect, or only at the price of a TypeError.
SYMMETRIC = {"min", "max", "minimum", "maximum", "isclose", "allclose", "logical_and", "logical_or", "hypot"}
SYMMETRIC |= {"isinstance", "issubclass", "getattr", "hasattr", "setattr", "cast", "union", "intersection"}


class ScaleFloat(Operator):  # type: ignore[misc]
    """Makes a number with a decimal point a fifth smaller: quantiles, thresholds, but not tolerances."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if node.type != "number" or not re.fullmatch(r"[\d_]*\.[\d_]*|[\d_.]+[eE]-?\d+", node.value):
            return
        if float(node.value) == 0 or float(node.value) >= TOLERANCE:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Node, index: int) -> Node:
        value = float(node.value)
        node.value = repr(round(value * 0.8, 12) or value * 0.8 or 1.0)
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example("x = 0.5", "x = 0.4"),
            Example("x = 0.0", "x = 1.0"),
            Example("x = 1e-3", "x = 0.0008"),
        )


class SwapNames(Operator):  # type: ignore[misc]
    """Reads the opposite of a limit or extreme: lower for upper, argmin for argmax."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if node.type != "name" or node.value not in OPPOSITE or node.is_definition(include_setitem=True):
            return
        follows, parent = node.get_next_leaf(), node.parent
        if (follows is not None and follows.value == "=") or parent.type in ("param", "global_stmt"):
            return  # the name of an argument
        if parent.type == "trailer":
            if node.value in ("lower", "upper") and follows is not None and follows.value == "(":
                return  # letters of a text
        elif node.value not in BUILTIN and not self._is_known(node):
            return
        yield node.start_pos, node.end_pos

    @staticmethod
    def _is_known(node: Node) -> bool:
        scope = node.search_ancestor("funcdef", "lambdef", "classdef", "file_input")
        return re.search(rf"\b{OPPOSITE[node.value]}\b", scope.get_code()) is not None

    def mutate(self, node: Node, index: int) -> Node:
        node.value = OPPOSITE[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("x = max(y)", "x = min(y)"), Example("f(lower, upper)", "f(upper, upper)"))


class SwapArguments(Operator):  # type: ignore[misc]
    """Exchanges the first two arguments of a call."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if node.type != "arglist" or node.parent.type != "trailer" or len(node.children) < 3:
            return
        first, second = node.children[0], node.children[2]
        if "argument" in (first.type, second.type) or node.children[1].value != ",":
            return
        callee = node.parent.get_previous_leaf()
        if callee.value in SYMMETRIC or _code(first) == _code(second):
            return
        yield first.start_pos, second.end_pos

    def mutate(self, node: Node, index: int) -> Node:
        first, second = node.children[0], node.children[2]
        node.children[0] = parse(first.get_first_leaf().prefix + _code(second))
        node.children[2] = parse(second.get_first_leaf().prefix + _code(first))
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("f(a, b, c=d)", "f(b, a, c=d)"),)


class ReturnNone(Operator):  # type: ignore[misc]
    """Returns nothing."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if node.type == "return_stmt" and _code(node.children[1]) != "None":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Node, index: int) -> Node:
        node.children[1] = parse(" None")
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("def f():\n    return x\n", "def f():\n    return None\n"),)


class NegateMembership(Operator):  # type: ignore[misc]
    """Asks for the opposite with in and not in."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if node.type == "comparison" and _code(node.children[1]) in ("in", "not in"):
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Node, index: int) -> Node:
        opposite = {"in": " not in", "not in": " in"}[_code(node.children[1])]
        node.children[1] = parse(opposite)
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("x in y", "x not in y"), Example("x not in y", "x in y"))


class NegateFilter(Operator):  # type: ignore[misc]
    """Takes what a comprehension leaves out, and leaves out what it takes."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        if node.type == "comp_if":
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Node, index: int) -> Node:
        node.children[1] = parse(f" not ({_code(node.children[1])})")
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("[x for x in y if x > 1]", "[x for x in y if not (x > 1)]"),)


def _code(node: Node) -> str:
    return str(node.get_code(include_prefix=False))


OURS = {
    operator.__name__: operator
    for operator in (ScaleFloat, SwapNames, SwapArguments, ReturnNone, NegateMembership, NegateFilter)
}
# By the type of the node that they change, which spares asking all of them at each node.
OPERATORS: dict[str, tuple[str, ...]] = {
    "operator": (
        "ReplaceBinaryOperator_Add_Sub",
        "ReplaceBinaryOperator_Sub_Add",
        "ReplaceBinaryOperator_Mul_Div",
        "ReplaceBinaryOperator_Div_Mul",
        "ReplaceBinaryOperator_FloorDiv_Mul",
        "ReplaceBinaryOperator_Pow_Mul",
        "ReplaceBinaryOperator_BitAnd_BitOr",
        "ReplaceBinaryOperator_BitOr_BitAnd",
    ),
    "comparison": (
        "ReplaceComparisonOperator_Eq_NotEq",
        "ReplaceComparisonOperator_NotEq_Eq",
        "ReplaceComparisonOperator_Lt_LtE",
        "ReplaceComparisonOperator_LtE_Lt",
        "ReplaceComparisonOperator_Gt_GtE",
        "ReplaceComparisonOperator_GtE_Gt",
        "ReplaceComparisonOperator_Lt_Gt",
        "ReplaceComparisonOperator_Gt_Lt",
        "ReplaceComparisonOperator_LtE_GtE",
        "ReplaceComparisonOperator_GtE_LtE",
        "ReplaceComparisonOperator_Is_IsNot",
        "ReplaceComparisonOperator_IsNot_Is",
        "NegateMembership",
    ),
    "factor": ("ReplaceUnaryOperator_Delete_USub", "ReplaceUnaryOperator_Delete_Invert"),
    "not_test": ("ReplaceUnaryOperator_Delete_Not",),
    "keyword": (
        "ReplaceTrueWithFalse",
        "ReplaceFalseWithTrue",
        "ReplaceAndWithOr",
        "ReplaceOrWithAnd",
        "ReplaceBreakWithContinue",
        "ReplaceContinueWithBreak",
    ),
    "if_stmt": ("AddNot",),
    "while_stmt": ("AddNot",),
    "test": ("AddNot",),
    "ternary": ("AddNot",),
    "for_stmt": ("ZeroIterationForLoop",),
    "number": ("NumberReplacer", "ScaleFloat"),
    "name": ("SwapNames",),
    "arglist": ("SwapArguments",),
    "return_stmt": ("ReturnNone",),
    "comp_if": ("NegateFilter",),
}
_THEIRS = OperatorProvider()


def operator(name: str) -> Operator:
    """Return an operator by its name."""
    return (OURS[name] if name in OURS else _THEIRS[name])()


def changes(text: str) -> Iterator[tuple[str, int, Position]]:
    """Yield the operator, the occurrence in its count, and the place of all changes of a module."""
    at_hand = {name: operator(name) for names in OPERATORS.values() for name in names}
    counts = dict.fromkeys(at_hand, 0)
    for node in ast_nodes(get_ast(text)):
        for name in OPERATORS.get(node.type, ()):
            for place in at_hand[name].mutation_positions(node):
                if not (name == "NumberReplacer" and re.search(r"[.eE]", node.value)):  # ScaleFloat's
                    yield name, counts[name], place
                counts[name] += 1


def changed(text: str, name: str, occurrence: int) -> str:
    """Return the text of a module after one change."""
    return str(mutate_code(text, operator(name), occurrence))
