"""The numbers of names that are no nouns, and of names that several classes or modules have, may only fall.

Values are nouns: `labels`, `result`, `rows`. CEILINGS has the number of bare participles, adverbs and
pronouns in each layer; who renames some lowers it. A class has a name of its own, and so has a module: SHARED
has the numbers of names that several of them have. Run from the root of a checkout.
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
CEILINGS = {"analysis": 80, "inference": 37, "cli": 3}

# `__all__` exports Bootstrap, Drawn, Job and Ratings, and own checks import Question; three of them are also
# parts of study files, whose schema has their names. Pages import from both modules `choices` and from
# `clusters` of trials; a check is in a module of its name, so there is another `clusters`.
SHARED = {"class": 5, "module": 2}


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


def named(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield ``class`` or ``module``, its name, and where it is."""
    for layer in CEILINGS:
        for path in sorted((root / layer).rglob("*.py")):
            place = path.relative_to(root).as_posix()
            if path.stem != "__init__":
                yield "module", path.stem, place
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    yield "class", node.name, f"{place}:{node.lineno}"


def shared_names(root: Path) -> Iterator[str]:
    """Yield a sentence for classes and for modules if more names than SHARED has, or fewer, are shared."""
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for kind, name, place in named(root):
        names[kind, name].append(place)
    for kind, ceiling in SHARED.items():
        shared = {key[1]: at for key, at in sorted(names.items()) if key[0] == kind and len(at) > 1}
        if len(shared) > ceiling:
            listed = "; ".join(f"{name} ({', '.join(places)})" for name, places in shared.items())
            yield (
                f"{len(shared):,} names are those of more than one {kind}, and {ceiling:,} are allowed; "
                f"name the new {kind} by what only it holds. They are {listed}."
            )
        elif len(shared) < ceiling:
            yield (
                f"{len(shared):,} names are those of more than one {kind}; lower SHARED in "
                ".ci/check_names.py to that."
            )


if __name__ == "__main__":
    found = [*problems(Path.cwd()), *shared_names(Path.cwd())]
    print(*found, sep="\n")
    sys.exit("Names are not as .ci/check_names.py says." if found else 0)
