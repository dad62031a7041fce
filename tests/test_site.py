"""How pages of docs/ become pages of the site, and what the built site is checked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import FIXTURES
from tour import extension

PAGES, CELLS, CHECKING = extension("site_pages"), extension("cells"), extension("checking")
NOTEBOOKS = extension("notebooks")
PAGE = (FIXTURES / "pages/site.txt").read_text(encoding="utf-8")


def test_commands_and_python_become_cells_and_sketches_do_not() -> None:
    made = PAGES.page(PAGE, Path("/site/docs/howto/page.md"), {})
    assert made.startswith("---\nfile_format: mystnb\n")
    assert "```{code-cell} ipython3\n%%commands\nconjury init labels claims\n```" in made
    assert "```{code-cell} ipython3\n1 + 1" in made
    with pytest.raises(ValueError, match="blocks within ::: would not be run"):
        PAGES.page(f":::{{tab-item}} A\n{PAGE}:::\n", Path("/site/docs/howto/page.md"), {})
    assert "```bash\nconjury fit MINE\n```" in made
    assert "```yaml\nname: mine\n```" in made


def test_a_page_without_blocks_that_run_is_no_notebook() -> None:
    shown = PAGES.page(PAGE, Path("/site/docs/howto/page.md"), {}, execute=False)
    assert "code-cell" not in shown
    assert "mystnb" not in shown
    assert "```bash\nconjury init labels claims\n```" in shown


def test_links_to_files_outside_docs_lead_to_their_pages_and_links_in_code_stay() -> None:
    places = {Path("/site/PARITY.md"): "/comparisons/parity.md"}
    made = PAGES.page(PAGE, Path("/site/docs/howto/page.md"), places)
    assert "[parity](/comparisons/parity.md#cregg)" in made
    assert "[not a link](../../PARITY.md)" in made


def test_pictures_of_both_themes_follow_the_switch_of_the_site() -> None:
    text = (
        '<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="a-dark.png">\n'
        '  <img src="a-light.png" width="620"\n       alt="Two\nlines.">\n</picture>\n'
    )
    made = PAGES.page(text, Path("/site/docs/page.md"), {Path("/site/docs/a-dark.png"): "/dark.png"})
    assert "```{image} a-light.png\n:class: only-light\n:width: 620px\n:alt: Two lines.\n```" in made
    assert "```{image} /dark.png\n:class: only-dark" in made


def test_commands_that_need_something_are_not_run_and_others_end_as_stated() -> None:
    run = "# a comment\nconjury judge x \\\n  --human a   # exit 1\nls\n"
    block = f"{run}conjury collect y  # needs a GPU\nmake demo\n"
    assert [(line.split()[0:2], code) for line, code in CELLS.run(block)] == [
        (["conjury", "judge"], 1),
        (["ls"], 0),
    ]


def test_a_command_that_ends_otherwise_than_stated_fails_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    CELLS.run_commands("", "echo one; exit 3  # exit 3\n")
    assert capsys.readouterr().out == "one\n"
    with pytest.raises(RuntimeError, match="ended with 3 instead of 0"):
        CELLS.run_commands("", "exit 3\n")


@pytest.mark.slow
@pytest.mark.parametrize("page", NOTEBOOKS.TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_as_a_notebook(page: Path, tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.from_dict(NOTEBOOKS.notebook(page.read_text(encoding="utf-8"), ""))
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    text = "".join(output.get("text", "") for cell in book.cells for output in cell.get("outputs", ()))
    assert "Traceback" not in text
    assert "conjury: " not in text  # how refusals begin


def test_dead_links_missing_files_and_other_hosts_are_faults(tmp_path: Path) -> None:
    (tmp_path / "there.html").write_text('<p id="here">x</p><a href="#here">x</a>', encoding="utf-8")
    (tmp_path / "page.html").write_text(
        '<a href="there.html#here">x</a><a href="there.html#gone">x</a><a href="gone.html">x</a>'
        '<a href="https://example.org">x</a><script src="https://example.org/x.js"></script>'
        '<img src="gone.png"><p>the ``estimate (in points)</p><code>``</code>',
        encoding="utf-8",
    )
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "template.html").write_text('<img src="{{ picture }}">', encoding="utf-8")
    assert list(CHECKING.faults(tmp_path)) == [
        "page.html loads https://example.org/x.js from another host.",
        "page.html loads gone.png, which is not there.",
        "page.html shows the markup of: the ``estimate (in points)",
        "page.html links to there.html#gone, a heading that is not there.",
        "page.html links to gone.html, which is not there.",
    ]
