"""What arithmetic finds about a group of published numbers, and the registry of such checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from conjury.inference.entry_registry import Registry

from .numbers import Printed

Verdict = Literal["consistent", "conditional", "inconsistent", "untested"]
IN_WORDS: dict[str, str] = {
    "consistent": "consistent as published",
    "conditional": "consistent only under another definition",
    "inconsistent": "inconsistent as published",
    "untested": "cannot be tested",
}


@dataclass(frozen=True)
class Finding:
    """The verdict of one check on some of the published numbers of a group.

    Parameters
    ----------
    check : str
        Name of the check, as registered.
    numbers : tuple of str
        Roles of the numbers that the verdict is about, such as ``("mean", "sd")``.
    verdict : {"consistent", "conditional", "inconsistent", "untested"}
        "conditional" where the numbers are consistent only under a definition, rounding or sample size other
        than the stated one; "untested" where what is known excludes nothing.
    reason : str
        One sentence with the numbers.
    under : tuple of str
        The definitions, in words, under which the numbers are consistent, if not as stated.
    nearest : str
        The nearest possible value or table, where the numbers are inconsistent.
    n_definitions : int
        How many definitions were tried, the stated one included.
    chance : float or None
        Probability that random numbers of as many digits would be consistent: under the stated definition
        where the verdict is "consistent" or "untested", otherwise under any of those tried; None where it was
        not computed.
    undecided : bool
        Whether a search ended before it decided, so that "untested" does not mean that nothing is excluded.

    Examples
    --------
    >>> finding = Finding("mean_sd", ("mean", "sd"), "inconsistent", "No 25 ratings have these numbers.")
    >>> finding.verdict, finding.under
    ('inconsistent', ())
    """

    check: str
    numbers: tuple[str, ...]
    verdict: Verdict
    reason: str
    under: tuple[str, ...] = ()
    nearest: str = ""
    n_definitions: int = 1
    chance: float | None = None
    undecided: bool = False


@dataclass(frozen=True)
class Group:
    """Published numbers that belong together, by role, and what is known about them.

    Parameters
    ----------
    numbers : mapping
        From roles, such as "mean", to published numbers; roles that were not published are absent.
    settings : mapping
        What is known: sample sizes, scales, counts of labels and the like, as the description states them.
    place : str
        Which group it is, in words, for sentences.

    Examples
    --------
    >>> from conjury.analysis.audit.arithmetic import Printed
    >>> group = Group({"mean": Printed.read("3.44")}, {"n": 25}, "Table 2, row 1")
    >>> group.numbers["mean"].digits
    2
    """

    numbers: Mapping[str, Printed]
    settings: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""


Check = Callable[[Group], Iterable[Finding]]


@dataclass(frozen=True)
class RegisteredCheck:
    """A check of published numbers: roles that it needs, roles and settings that it can use."""

    name: str
    title: str
    run: Check
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    settings: tuple[str, ...]


REGISTERED: Registry[RegisteredCheck] = Registry("conjury.arithmetic", [__package__])


def arithmetic(
    name: str,
    title: str,
    *,
    needs: Sequence[str] = (),
    uses: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> Callable[[Check], Check]:
    """Register a check of published numbers under the name that descriptions of tables use.

    Parameters
    ----------
    name : str
        Name of the check in descriptions of tables.
    title : str
        What it checks, for tables and reports.
    needs : sequence of str
        Roles without which the check does not run.
    uses : sequence of str
        Further roles that it uses where they were published.
    settings : sequence of str
        Names of the settings that a description may state.

    Returns
    -------
    callable
        A decorator of the function that yields a `Finding` for each verdict on a `Group`.

    Examples
    --------
    >>> @arithmetic("halves", "Halves of a total", needs=("half", "total"))
    ... def check_halves(group):
    ...     half, total = (group.numbers[role].exact for role in ("half", "total"))
    ...     definitions = {"as stated": lambda: 2 * half == total}
    ...     yield decide("halves", ("half", "total"), definitions, "Twice the half is the total.")
    >>> REGISTERED.registered.pop("halves").needs
    ('half', 'total')
    """

    def register(run: Check) -> Check:
        REGISTERED.registered[name] = RegisteredCheck(
            name, title, run, tuple(needs), tuple(uses), tuple(settings)
        )
        return run

    return register


def decide(
    check: str,
    numbers: Sequence[str],
    definitions: Mapping[str, Callable[[], bool]],
    reason: str,
    *,
    nearest: Callable[[], str] = lambda: "",
    chance: float | None = None,
) -> Finding:
    """Try definitions in order, the stated one first, and return the verdict.

    All alternatives are tried where the stated definition fails, so that ``under`` is complete.

    Parameters
    ----------
    check : str
        Name of the check, as registered.
    numbers : sequence of str
        Roles of the numbers that the verdict is about.
    definitions : mapping of str to callable
        From definitions in words, the stated one first, to functions that say whether the numbers are
        consistent under it.
    reason : str
        One sentence with the numbers.
    nearest : callable
        Returns the nearest possible value in words; called only where the stated definition fails.
    chance : float, optional
        Probability that random numbers of as many digits would be consistent, if it was computed.

    Returns
    -------
    Finding
        Verdict "consistent" under the stated definition, "conditional" under another one, otherwise
        "inconsistent".

    Examples
    --------
    >>> definitions = {"divisor n-1": lambda: False, "divisor n": lambda: True}
    >>> finding = decide("mean_sd", ("mean", "sd"), definitions, "The SD of 25 ratings.")
    >>> finding.verdict, finding.under
    ('conditional', ('divisor n',))
    """
    stated_definition, *alternatives = definitions.items()
    if stated_definition[1]():
        return Finding(check, tuple(numbers), "consistent", reason, n_definitions=1, chance=chance)
    under = tuple(_definitions_that_hold(alternatives))
    verdict: Verdict = "conditional" if under else "inconsistent"
    return Finding(check, tuple(numbers), verdict, reason, under, nearest(), len(definitions), chance)


def _definitions_that_hold(definitions: Iterable[tuple[str, Callable[[], bool]]]) -> Iterator[str]:
    for name, possible in definitions:
        if possible():
            yield name
