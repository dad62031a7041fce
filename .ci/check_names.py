"""The numbers of names that are no nouns, and of names that several classes have, may only fall.

Values are nouns: `labels`, `result`, `rows`. CEILINGS has the number of bare participles, adverbs and
pronouns in each layer; who renames some lowers it. A class has a name of its own: SHARED_CLASS_NAMES is the
number of names that several classes have. Run from the root of a checkout.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

BARE = re.compile(
    "told|said|found|made|own|shown|spare|there|kept|held|lost|apart|astray|telling|again|left|known|given|"
    "taken|asked|wanted|seen|used|stated|drawn|few|rest|other|others|one|both|whole|plain"
)
CEILINGS = {"analysis": 85, "inference": 37, "cli": 5}

# `__all__` exports Bootstrap, Drawn, Job and Ratings, and own checks import Question; three of them are also
# parts of study files, whose schema has their names.
SHARED_CLASS_NAMES = 5


def bound_names(root: Path) -> Iterator[str]:
    """Yield the names of all variables and parameters below a folder, once for each binding."""
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    yield name


def problems(root: Path) -> Iterator[str]:
    """Yield a sentence for each layer with more such names than its ceiling, or with fewer."""
    for layer, ceiling in CEILINGS.items():
        names = Counter(bound_names(root / layer))
        bare = Counter({name: number for name, number in names.items() if BARE.fullmatch(name)})
        total = bare.total()
        if total > ceiling:
            commonest = ", ".join(f"{word} ({number:,})" for word, number in bare.most_common(5))
            yield (
                f"{layer}: {total:,} names ({total / names.total():.1%}) are bare participles, adverbs or "
                f"pronouns, and {ceiling:,} are allowed; name values by nouns. The commonest are {commonest}."
            )
        elif total < ceiling:
            yield f"{layer}: {total:,} such names are left; lower its ceiling in .ci/check_names.py to that."


def shared_class_names(root: Path) -> Iterator[str]:
    """Yield a sentence if more names than SHARED_CLASS_NAMES, or fewer, are those of several classes."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for layer in CEILINGS:
        for path in sorted((root / layer).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    names[node.name].append(f"{path.relative_to(root).as_posix()}:{node.lineno}")
    shared = {name: places for name, places in sorted(names.items()) if len(places) > 1}
    if len(shared) > SHARED_CLASS_NAMES:
        listed = "; ".join(f"{name} ({', '.join(places)})" for name, places in shared.items())
        yield (
            f"{len(shared):,} names are those of several classes, and {SHARED_CLASS_NAMES:,} are allowed; "
            f"name the new class by what only it holds. They are {listed}."
        )
    elif len(shared) < SHARED_CLASS_NAMES:
        yield (
            f"{len(shared):,} names are those of several classes; lower SHARED_CLASS_NAMES in "
            ".ci/check_names.py to that."
        )


if __name__ == "__main__":
    found = [*problems(Path.cwd()), *shared_class_names(Path.cwd())]
    print(*found, sep="\n")
    sys.exit("Names are not as .ci/check_names.py says." if found else 0)
