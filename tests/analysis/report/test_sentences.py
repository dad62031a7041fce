"""Every sentence that states a condition is true of the table that it is about, whatever the table."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_cases import CASES, check_grammar
from sentence_cases.drawing import Draws

import conjury.analysis.report.sentences as package
from conjury.analysis.frames.sentences import SENTENCES, agreeing, out_of, record_of, together
from conjury.inference.tables.files import QUARTO

ROOT = Path(package.__file__).parents[1]
for one in iter_modules(package.__path__):
    import_module(f"{package.__name__}.{one.name}")


@pytest.mark.parametrize("name", sorted(CASES))
def test_each_condition_that_a_sentence_states_holds_in_its_table(name: str) -> None:
    @settings(max_examples=25, deadline=None, derandomize=True, database=None)
    @given(st.integers(0, 2**32 - 1))
    def holds(seed: int) -> None:
        check_grammar(CASES[name](Draws(seed)))

    holds()


def test_every_listed_sentence_has_a_case_and_is_a_function_of_a_frozen_record() -> None:
    listed = {name for name, write in SENTENCES.items() if write.__module__.startswith(package.__name__)}
    assert listed == set(CASES)
    assert all(fields(record_of(SENTENCES[name])) for name in listed)


def test_all_functions_of_the_folder_that_end_in_words_are_listed() -> None:
    written = {
        node.name
        for path in Path(package.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_in_words")
    }
    assert written == set(CASES)


def test_parts_of_totals_agree_in_number() -> None:
    assert out_of(1, 1, "test") == "1 of 1 test"
    assert agreeing(0, "is", "are") == "are"
    assert together("ABCDE") == "A, B, C and 2 more"


CONDITION = re.compile(
    r"\b(all|every|each|no|not every|most|none|both|same|more|fewer|less|largest|smallest|highest|lowest|"
    r"always|never|only|significant\w*|differs?)\b",
    re.IGNORECASE,
)
REVIEWED = Path(__file__).parents[2] / "fixtures" / "prose" / "conditions_in_documents.txt"


def conditions_in(document: str) -> list[str]:
    """Sentences of the prose of a document that contain a word of a condition."""
    body = re.sub(r"^---.*?---", "", document, flags=re.DOTALL)
    outside = re.sub(r"```\{python\}.*?```", "\n\n", body, flags=re.DOTALL)
    text = "\n\n".join([outside, *re.findall(r'"""(.*?)"""', body, re.DOTALL)])
    text = re.sub(r"^(#|:::|\{\{).*$", "", text, flags=re.MULTILINE)
    paragraphs = (" ".join(one.split()) for one in re.split(r"\n\s*\n", text))
    return [one for part in paragraphs for one in re.split(r"(?<=[.?!])\s+", part) if CONDITION.search(one)]


def test_prose_of_documents_states_conditions_only_where_they_are_definitions() -> None:
    """A sentence about the data belongs to `sentences`, where it is computed; a definition, to the list."""
    listed = set(REVIEWED.read_text(encoding="utf-8").splitlines())
    written = {
        sentence
        for path in QUARTO.glob("*.qmd")
        for sentence in conditions_in(path.read_text(encoding="utf-8"))
    }
    assert written == listed


EXHIBITS = ROOT / "exhibits"
COUNTING = re.compile(
    r"\b(none of|each of|largest|smallest|highest|lowest|fewest|most|majority|significant\w*|exclude\w*|"
    r"below|above|differs?)\b|\} of \{|\ball \{",
    re.IGNORECASE,
)
LISTED = Path(__file__).parents[2] / "fixtures" / "prose" / "conditions_in_exhibits.txt"


def functions_with_conditions() -> set[str]:
    """Functions of exhibits that put values into a text with a word of a condition."""
    functions = set()
    for path in EXHIBITS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for text in ast.walk(node):
                if isinstance(text, ast.JoinedStr):
                    parts = [one.value if isinstance(one, ast.Constant) else "{}" for one in text.values]
                    if COUNTING.search("".join(map(str, parts))):
                        functions.add(f"{path.relative_to(EXHIBITS).with_suffix('').as_posix()}.{node.name}")
    return functions


def test_exhibits_count_nothing_in_sentences_of_their_own() -> None:
    """A sentence that counts or compares belongs to `sentences`; what merely describes a table is listed."""
    listed = set(LISTED.read_text(encoding="utf-8").splitlines())
    assert functions_with_conditions() <= listed
