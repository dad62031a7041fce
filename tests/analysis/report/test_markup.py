"""Markdown of reports as HTML: what stands in for finished parts cannot be written by a study."""

from __future__ import annotations

from pathlib import Path

import pytest

from conjury.analysis.report import markup
from conjury.analysis.report.markup import new_mark, to_html

REPORT = """# {text} {{#sec-a}}

{text} and **bold** by [@key2020], see @sec-a.

```{{=html}}
<table><tr><td>{text}</td></tr></table>
```

::: {{.callout-note title="{text}"}}

{text}

:::

::: {{#refs}}
:::
"""
BIBLIOGRAPHY = "@article{key2020,\n  author = {Key, A.},\n  title = {A title},\n  year = {2020},\n}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "references.bib").write_text(BIBLIOGRAPHY, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("text", [f"conjurytoken{n}end" for n in range(8)] + ["conjuryreferences"])
def test_text_that_looks_like_a_placeholder_stays_text(folder: Path, text: str) -> None:
    page = to_html(REPORT.format(text=text), folder, "references.bib")
    plain = to_html(REPORT.format(text="W"), folder, "references.bib")
    assert page.replace(text, "W") == plain
    assert page.count(text) == plain.count("W") >= 5


def test_placeholders_are_others_on_every_page_and_none_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks: list[str] = []

    def drawn(text: str) -> str:
        marks.append(new_mark(text))
        return marks[-1]

    monkeypatch.setattr(markup, "new_mark", drawn)
    pages = [to_html(REPORT.format(text="W"), folder, "references.bib") for _ in range(2)]
    assert pages[0] == pages[1]
    assert len(set(marks)) == 2
    assert not any(mark in pages[0] for mark in marks)


def test_a_placeholder_that_occurs_in_the_page_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter("a" * 20 + "b" * 20)
    monkeypatch.setattr("secrets.choice", lambda _: next(letters))
    assert new_mark("x CONJURY" + "A" * 20 + "0end") == "conjury" + "b" * 20
