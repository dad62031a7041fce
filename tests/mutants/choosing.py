"""Which tests try a mutant, in which order: those that execute its lines, fastest first, within a limit."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mutants.places import Places, body, enclosing, functions
from mutants.recording import Recorded, Store, content

SECONDS = 10.0  # of processors, by recorded durations
FILE_SECONDS = 0.3  # to import a test file and what it needs


@dataclass(frozen=True)
class Chosen:
    """Tests in their order, how many reach the lines, and whether some of those were left out."""

    tests: tuple[str, ...]
    reaching: int
    cut: bool
    seconds: float


class Chooser:
    """Finds tests by what was recorded; in files that changed since, by the function around the lines."""

    def __init__(self, store: Store, files: Iterable[str], places: Places, limit: float = SECONDS) -> None:
        self.store, self.places, self.limit = store, places, limit
        self.recorded: dict[str, Recorded] = {}
        self.states: dict[str, str] = {}
        # by source file: (hash of the source, test file, test or "" for what ran outside of tests, lines)
        self.index: dict[str, list[tuple[str, str, str, int]]] = defaultdict(list)
        for file in files:
            recorded = store.read(file)
            if recorded is None:
                continue
            self.recorded[file] = recorded
            for test, lines in [("", recorded.outside), *((t, m) for t, (_, m) in recorded.tests.items())]:
                for source, mask in lines.items():
                    if source in places.sources:
                        self.index[source].append((recorded.sources.get(source, ""), file, test, mask))

    def choose(self, file: str, first: int, last: int) -> Chosen:
        """Choose tests for a change of lines of a file."""
        lines = self.places.to_execute(file, first, last)
        reached: dict[str, set[str]] = defaultdict(set)
        for source, mask in lines.items():
            now = self._state(source)
            known: dict[str, int] = {now: mask}
            for state, tests, test, executed in self.index.get(source, ()):
                if state not in known:
                    known[state] = self._then(source, state, mask)
                if executed & known[state]:
                    reached[tests].add(test)
        return self._ordered(reached, file)

    def _state(self, source: str) -> str:
        if source not in self.states:
            self.states[source] = content(self.store.root / source)
        return self.states[source]

    def _then(self, source: str, state: str, mask: int) -> int:
        """Lines, in an earlier text, of the functions that hold lines of the text of today."""
        text = self.store.source(state)
        if text is None:
            return 0
        tree = ast.parse(self.places.sources[source])
        around = (enclosing(tree, line) for line in range(mask.bit_length()) if mask >> line & 1)
        names = {function[0] for function in around if function is not None}
        return sum({body(node) for name, node in functions(ast.parse(text)) if name in names})

    def _ordered(self, reached: Mapping[str, set[str]], file: str) -> Chosen:
        near = "tests/" + "/".join(file.split("/")[:2])
        first: list[tuple[bool, float, str, str]] = []
        second: list[tuple[bool, float, str, str]] = []
        for tests, names in reached.items():
            for test, (seconds, _) in self.recorded[tests].tests.items():
                # A test may look at what an earlier one, or a fixture of its module, has computed.
                entry = (not tests.startswith(near), seconds, tests, test)
                (first if test in names else second).append(entry)
        chosen: list[str] = []
        used, files, cut = 0.0, set[str](), False
        for _, seconds, tests, test in [*sorted(first), *sorted(second)]:
            needed = seconds + FILE_SECONDS * (tests not in files)
            if chosen and used + needed > self.limit:
                cut = True
                continue
            chosen.append(test)
            files.add(tests)
            used += needed
        return Chosen(tuple(chosen), len(first), cut, used)
