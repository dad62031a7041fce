"""Errors that a user can act on: one sentence each, naming what to do next."""

from __future__ import annotations

import difflib
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from numbers import Real

LONGEST = 60  # characters of a cell that a sentence quotes


# whether a command is running, whose user knows options as `--human`; elsewhere they are `human=`
OF_COMMAND: ContextVar[bool] = ContextVar("OF_COMMAND", default=False)


class ConjuryError(Exception):
    """A problem with a stated remedy; the command line prints it and exits with code 2."""


class InputError(ConjuryError):
    """Bad input: the sentence names the file or table, the field, the row and the remedy."""


class SeveralProblems(InputError):
    """Problems of one table, each a sentence like that of an `InputError`, all at once: one a line."""

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = tuple(sentences)


class Problems:
    """What is wrong with the parts of a table, each of which is checked although others are wrong."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    @contextmanager
    def also(self) -> Iterator[None]:
        """Note a problem of one part, and go on with the next."""
        try:
            yield
        except InputError as error:
            self.sentences += sentences_of(error)

    def refuse(self) -> None:
        """Raise what was noted, if anything was."""
        if len(self.sentences) == 1:
            raise InputError(self.sentences[0])
        if self.sentences:
            raise SeveralProblems(self.sentences)


def sentences_of(error: ConjuryError) -> tuple[str, ...]:
    """The problems that an error names."""
    return error.sentences if isinstance(error, SeveralProblems) else (str(error),)


class UnknownOption(InputError):
    """An option that a function does not have: its name, beside the sentence."""

    def __init__(self, sentence: str, option: str) -> None:
        super().__init__(sentence)
        self.option = option


class MissingDependency(ConjuryError):
    """An optional package or program is absent; the sentence states how to install it."""


def require_installed(packages: Iterable[str], sentence: str) -> None:
    """Refuse to begin without packages, by their import names; ``{missing}`` of the sentence is the first."""
    for name in packages:
        if find_spec(name) is None:
            raise MissingDependency(sentence.format(missing=name))


def first_line(error: BaseException) -> str:
    """The first line of an error of another library, or its kind, as the end of a sentence quotes it."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".")


def listed(values: Iterable[object], limit: int = 12) -> str:
    """Values joined for a sentence, cut after ``limit``; in quotes where one has a comma."""
    names = [f"'{name}'" if ", " in name and name[0] not in "'\"" else name for name in map(str, values)]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def not_percent(value: object) -> str:
    """Return " (did you mean 0.85?)" for 85, where a share or coefficient belongs, or an empty string."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 1 < abs(value) <= 100:
        return ""
    return f" (did you mean {value / 100:g}?)"


def check_share(
    what: str, value: float, remedy: str, *, closed: bool = False, separator: str = "; "
) -> float:
    """Return a share, or raise InputError; 0 and 1 themselves are shares only if ``closed``."""
    is_share = isinstance(value, Real) and (0 <= value <= 1 if closed else 0 < value < 1)
    if not is_share:
        text = f"{value:g}" if isinstance(value, Real) else repr(value)
        raise InputError(f"{what} {text}{not_percent(value)}{separator}{remedy}.")
    return float(value)


def counted(number: int, noun: str, several: str = "") -> str:
    """A number with its noun: "1 figure", "2 figures", "3 analyses"."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def and_more(count: int) -> str:
    """How many further ones there are, in brackets; nothing without any."""
    return f" (and {count:,} more)" if count > 0 else ""


def money(amount: float) -> str:
    """An amount of money with two decimals."""
    return "under 0.01" if 0 < amount < 0.01 else f"{amount:,.2f}"


def distinct_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels by id, with the id behind where another has the same label."""
    uses = Counter(labels.values())
    return {name: f"{text} ({name})" if uses[text] > 1 else text for name, text in labels.items()}


def did_you_mean(word: str, among: Iterable[object]) -> str:
    """Return " (did you mean 'x'?)" for the closest candidate, or an empty string."""
    candidates = {str(name).casefold(): str(name) for name in among}
    text = word.casefold()
    close = difflib.get_close_matches(text, list(candidates), n=1, cutoff=0.61)  # Cost and chosen have 0.6
    close = [name for name in candidates if name.startswith(f"{text},")] or close
    close = close or [name for name in candidates if len(name) > 2 and text.startswith(name)]
    match = candidates[close[0]] if close else ""
    match = match if "," in word else option_of([match])
    return f" (did you mean '{match}'?)" if close else ""


def option_of(names: Iterable[str]) -> str:
    """Names as one option has them: separated by commas, in double quotes where they have one."""
    return ",".join(f'"{name}"' if "," in name else name for name in names)


def unknown_name(what: str, name: object, among: Iterable[object], limit: int = 12) -> InputError:
    """The error for a name that nothing has, with the nearest and all that there are."""
    names = [str(candidate) for candidate in among]
    meant = did_you_mean(str(name), names)
    return InputError(f"There is no {what} '{name}'{meant}; there are {listed(names, limit)}.")


def no_column(source: str, name: str, columns: Iterable[object], purpose: str = "") -> InputError:
    """The error for a column that a table does not have, and what it is for."""
    names = [str(column) for column in columns]
    meant = did_you_mean(name, names)
    return InputError(f"{source}: there is no column '{name}'{meant}{purpose}; there are {listed(names)}.")


def quoted(text: str) -> str:
    """A cell as a sentence quotes it, cut where it is long."""
    return f"'{text}'" if len(text) <= LONGEST else f"'{text[:LONGEST]}...'"


def as_argument(text: str) -> str:
    """A text as an argument of a command: whole, in quotes that a shell understands."""
    if "'" not in text:
        return f"'{text}'"
    return f'"{text}"' if not set(text) & set('"$`\\!') else shlex.quote(text)
