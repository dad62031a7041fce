"""Conjoint formulas: ``chosen ~ a + b * c``, where ``*`` marks two features that restrict each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from conjury.inference.errors import InputError

_EXAMPLE = "write it as 'chosen ~ slur + identity', with * between features that restrict each other"


@dataclass(frozen=True)
class Formula:
    """Outcome ("" if one-sided), features in order of appearance, and pairs that restrict each other."""

    outcome: str
    features: tuple[str, ...]
    restrictions: tuple[tuple[str, str], ...] = ()

    def without(self, names: Iterable[str]) -> Formula:
        """Return the formula with some features, and the restrictions that name them, left out."""
        dropped = set(names)
        return Formula(
            self.outcome,
            tuple(name for name in self.features if name not in dropped),
            tuple(pair for pair in self.restrictions if not dropped & set(pair)),
        )

    def __str__(self) -> str:
        partner = dict(self.restrictions)
        second = set(partner.values())
        terms = [
            f"{_quote(name)} * {_quote(partner[name])}" if name in partner else _quote(name)
            for name in self.features
            if name not in second
        ]
        return f"{_quote(self.outcome) if self.outcome else ''} ~ {' + '.join(terms) or '1'}".lstrip()


@lru_cache(maxsize=256)
def parse(formula: str) -> Formula:
    """Read a formula as the R package cregg does."""
    outcome, terms = _split(formula)
    features = tuple(dict.fromkeys(name for term in terms for name in term))
    restrictions = tuple((term[0], term[1]) for term in terms if len(term) == 2)
    if outcome in features:
        raise InputError(f"Formula {formula!r} names {outcome!r} on both sides; take it out of the features.")
    if any(len(term) > 2 for term in terms):
        raise InputError(f"Formula {formula!r} has a term of three features; restrictions join two.")
    alone = {term[0] for term in terms if len(term) == 1}
    for pair in restrictions:
        if not alone.issuperset(pair):
            raise InputError(
                f"Formula {formula!r} joins {pair[0]!r} and {pair[1]!r} without naming each of them; "
                f"write {_quote(pair[0])} * {_quote(pair[1])}."
            )
    restricted = [name for pair in restrictions for name in pair]
    repeated = next((name for name in restricted if restricted.count(name) > 1), None)
    if repeated is not None:
        raise InputError(
            f"Formula {formula!r} restricts {repeated!r} twice; join the features into one column instead."
        )
    return Formula(outcome, features, restrictions)


def _split(formula: str) -> tuple[str, list[tuple[str, ...]]]:
    from formulaic.errors import FormulaSyntaxError
    from formulaic.parser import DefaultFormulaParser
    from formulaic.parser.types import Term
    from formulaic.utils.structured import Structured

    try:
        parsed = DefaultFormulaParser(include_intercept=False).get_terms(formula)
    except (FormulaSyntaxError, SyntaxError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"Formula {formula!r} cannot be read ({reason}); {_EXAMPLE}.") from error
    except KeyError as error:
        raise InputError(f"Formula {formula!r} holds a dot for all columns; {_EXAMPLE}.") from error

    def names(term: Term) -> tuple[str, ...]:
        if not isinstance(term, Term):
            raise InputError(f"Formula {formula!r} has several parts; {_EXAMPLE}.")
        found = tuple(str(factor.expr).strip("`") for factor in term.factors if factor.expr not in ("0", "1"))
        if any(factor.eval_method.value == "python" for factor in term.factors):
            raise InputError(
                f"Formula {formula!r} transforms {str(term)!r}; make a column of it first and name that."
            )
        return found

    if not isinstance(parsed, Structured) or "rhs" not in parsed._structure:
        if "~" not in formula:
            raise InputError(f"Formula {formula!r} has no ~; {_EXAMPLE}.")
        right = [found for term in parsed if (found := names(term))]
        if not right:
            raise InputError(f"Formula {formula!r} names no feature; {_EXAMPLE}.")
        return "", right

    left = [names(term) for term in parsed.lhs]
    right = [found for term in parsed.rhs if (found := names(term))]
    if len(left) != 1 or len(left[0]) != 1:
        raise InputError(f"Formula {formula!r} needs exactly one outcome on its left side; {_EXAMPLE}.")
    if not right:
        raise InputError(f"Formula {formula!r} has no feature on its right side; {_EXAMPLE}.")
    return left[0][0], right


def _quote(name: str) -> str:
    return name if name.isidentifier() and not name.startswith("_") else f"`{name}`"
