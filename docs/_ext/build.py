"""Lays out the pages of the site in build/docs, has Sphinx build it, and checks what was built.

``python docs/_ext/build.py`` builds build/docs/html/index.html; with ``--quick`` pages are not executed and
the gallery is not drawn.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import checking
import notebooks
import reference
import site_pages

from conjury.analysis.figures.inline import variables_of
from conjury.analysis.figures.theme import DARK, LIGHT

ROOT = Path(__file__).parents[2]
DOCS, BUILT = ROOT / "docs", ROOT / "build" / "docs"
SOURCE = BUILT / "source"
MATHJAX = ROOT / ".cache" / "mathjax"
NOTEBOOKS = "_static/notebooks"
# What decides on the outputs of pages, besides the pages.
CODE = ("analysis", "inference", "cli", "data")
SETTINGS = ("uv.lock", "docs/_ext/cells.py", "docs/_ext/site_pages.py")
# Files outside docs/ that are pages of the site.
PAGES = {
    ROOT / "PARITY.md": "comparisons/parity.md",
    ROOT / "CHANGELOG.md": "project/changelog.md",
    ROOT / "CONTRIBUTING.md": "project/contributing.md",
    **{path: f"reference/data/{path.parent.name}.md" for path in (ROOT / "data").glob("*/README.md")},
    **{
        path: f"comparisons/timings/{path.stem.lower()}.md"
        for path in (ROOT / "benchmarks" / "results").glob("*.md")
    },
}
PLACES = {
    **{path: f"/{name}" for path, name in PAGES.items()},
    **{path: f"/{path.relative_to(DOCS)}" for path in DOCS.rglob("*") if path.is_file()},
    **{path: f"/_static/pictures/{path.name}" for path in (ROOT / ".github").glob("*.png")},
    ROOT / "CITATION.cff": "/project/cite.md",
    ROOT / "README.md": "/index.md",
}


def code_fingerprint() -> str:
    """Name the state of the package, its dependencies and what runs the pages: outputs are cached for it."""
    digest = hashlib.sha256()
    within = (path for folder in CODE for path in sorted((ROOT / folder).rglob("*")))
    for path in (*(ROOT / name for name in SETTINGS), *within):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(str(path.relative_to(ROOT)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def laid_out() -> Iterator[tuple[str, bytes]]:
    """Path below the source of the site, and contents, of every file."""
    for path in sorted(DOCS.rglob("*")):
        if not path.is_file() or {"_ext", "__pycache__", "gallery"} & set(path.relative_to(DOCS).parts):
            continue
        name = str(path.relative_to(DOCS))
        if path.suffix == ".md":
            text = path.read_text(encoding="utf-8")
            if path in notebooks.TUTORIALS:
                place = f"</{NOTEBOOKS}/{path.stem}.ipynb>"
                text += f"\n{{download}}`This page as a notebook {place}`, for Jupyter, VS Code or Colab.\n"
            yield name, site_pages.page(text, path, PLACES).encode()
        else:
            yield name, path.read_bytes()
    for path, name in PAGES.items():
        text = site_pages.page(path.read_text(encoding="utf-8"), path, PLACES, execute=False)
        yield name, text.encode()
    for name, text in reference.pages():
        yield name, text.encode()
    for name, text in notebooks.named():
        yield f"{NOTEBOOKS}/{name}", text.encode()
    yield "references.bib", (ROOT / "quarto" / "references.bib").read_bytes()
    yield "_static/figures.css", colors().encode()
    for path in sorted((ROOT / ".github").glob("*.png")):
        yield f"_static/pictures/{path.name}", path.read_bytes()


def colors() -> str:
    """Style sheet with the colours of drawings on pages, which have a switch between the themes."""
    themes = {theme.name: variables_of(theme) for theme in (LIGHT, DARK)}
    return "\n".join(f'html[data-theme="{name}"] {{\n{colors}\n}}' for name, colors in themes.items())


def lay_out() -> None:
    """Write the source of the site; unchanged files keep their times, so that Sphinx skips them."""
    written = set()
    for name, contents in laid_out():
        target = SOURCE / name
        written.add(target)
        if not target.exists() or target.read_bytes() != contents:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents)
    made_by_sphinx = ("gallery", "reference/names", "reference/backreferences", "_static/mathjax")
    for path in SOURCE.rglob("*"):
        ours = not str(path.relative_to(SOURCE)).startswith(made_by_sphinx)
        if path.is_file() and ours and path not in written:
            path.unlink()
    if MATHJAX.exists():
        shutil.copytree(MATHJAX, SOURCE / "_static" / "mathjax", dirs_exist_ok=True)


def caches(fingerprint: str) -> Path:
    """The folder of what pages printed under this state of the code; that of other states is removed."""
    state, cache = BUILT / "state", ROOT / ".cache" / "docs"
    if state.exists() and state.read_text(encoding="utf-8") != fingerprint:
        shutil.rmtree(BUILT)
    for old in cache.glob("*"):
        if old.name != fingerprint:
            shutil.rmtree(old)
    BUILT.mkdir(parents=True, exist_ok=True)
    state.write_text(fingerprint, encoding="utf-8")
    return cache / fingerprint


def environment(cache: Path) -> dict[str, str]:
    """Environment of the build and so of the commands on pages: the package is on the path, keys are not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return kept | {
        "CONJURY_DOCS_CACHE": str(cache),
        "CONJURY_DOCS_GALLERY": str(DOCS / "gallery"),
        "CONJURY_DOCS_REPOSITORY": project["tool"]["conjury"]["repository"],
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(DOCS / "_ext"),
        "XDG_CONFIG_HOME": str(BUILT / "settings"),  # of `conjury trust`
        "MPLBACKEND": "agg",
        "OPENBLAS_NUM_THREADS": "1",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }


def main() -> int:
    """Build and check; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="do not execute pages, leave the gallery out")
    parser.add_argument(
        "--linkcheck", action="store_true", help="ask other sites whether links lead somewhere"
    )
    asked = parser.parse_args()
    settings = environment(caches(code_fingerprint()))
    lay_out()
    kind = "quick" if asked.quick or asked.linkcheck else "html"
    options = ["-D", "nb_execution_mode=off", "-D", "plot_gallery=0"] if kind == "quick" else []
    builder = ["-b", "linkcheck"] if asked.linkcheck else ["-W", "--keep-going"]
    sphinx = [sys.executable, "-m", "sphinx", *builder, "-q", "-j", "2", *options]
    built = subprocess.run(
        [*sphinx, "-d", str(BUILT / f"doctrees-{kind}"), str(SOURCE), str(BUILT / kind)],
        env=settings,
        check=False,
    )
    if built.returncode or asked.linkcheck:
        return built.returncode
    found = list(checking.faults(BUILT / kind))
    print(*found, f"{BUILT / kind / 'index.html'}: {len(found)} faults in links and files", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
