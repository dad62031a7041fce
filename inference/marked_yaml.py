"""YAML read together with the line on which every value stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from .errors import InputError

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class MarkedYaml:
    """The content of a YAML file, and the line (from 1) of each value by its path of keys and positions."""

    path: Path
    content: object
    lines: dict[Location, int]

    def line(self, location: Location) -> int:
        """Find the line of ``location``, or of the nearest value around it that the file holds."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)

    def error(self, location: Location, sentence: str) -> InputError:
        """Make an InputError that names the file and the line of ``location``."""
        return InputError(f"{self.path}:{self.line(location)}: {sentence}")


def read_marked_yaml(path: Path) -> MarkedYaml:
    """Read one YAML document.

    Raises
    ------
    InputError
        If the file cannot be read, is not YAML, is empty, or gives a key twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}:1: the file is not UTF-8 text; save it as UTF-8.") from None
    except OSError as problem:
        raise InputError(f"{path}: the file cannot be read ({problem.strerror}); check the path.") from None
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        lines = {} if node is None else dict(_lines(path, node, (), set()))  # before merge keys are resolved
        content = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = 1 if mark is None else mark.line + 1
        raise InputError(
            f"{path}:{line}: this is not valid YAML ({problem.problem}); check indentation, colons, quotes."
        ) from None
    except (yaml.YAMLError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise InputError(f"{path}:1: this is not valid YAML ({reason}); correct the file.") from None
    if node is None:
        raise InputError(f"{path}:1: the file is empty; fill in at least a name and the attributes.")
    return MarkedYaml(path, content, lines)


def _lines(path: Path, node: yaml.Node, location: Location, seen: set[int]) -> Iterator[tuple[Location, int]]:
    yield location, node.start_mark.line + 1
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield from _lines(path, item, (*location, position), seen)
    elif isinstance(node, yaml.MappingNode):
        first_line: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in first_line:
                raise InputError(
                    f"{path}:{line}: '{key.value}' was already given on line {first_line[key.value]}; "
                    "keep one of the two."
                )
            first_line[key.value] = line
            yield from _lines(path, value, (*location, key.value), seen)
            yield (*location, key.value), line
