"""Pages of docs/ as MyST notebooks: their blocks become cells, their pictures and links those of the site."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

HEAD = """---
file_format: mystnb
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

```{code-cell} ipython3
:tags: [remove-cell]

%load_ext cells
```

"""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"(^```.*?^```$)", flags=re.MULTILINE | re.DOTALL)
RUN = re.compile(r"^```(python)?\n", flags=re.MULTILINE)
PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\s*'
    r'<img src="(?P<light>[^"]+)" width="(?P<width>\d+)"\s+alt="(?P<alt>[^"]+)">\s*</picture>'
)
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")
NEEDS = "# needs "  # a key, a GPU, a server, a browser: shown and not run
SHOWN = {"": "bash", "csv": "text", "py": "python", "sh": "bash"}  # languages of blocks that are not run


def commands(block: str) -> list[str]:
    """The commands of a block, joined where they are continued; make needs a checkout and is left out."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith(("#", "make "))]


def page(text: str, here: Path, places: Mapping[Path, str], *, execute: bool = True) -> str:
    """A page of Markdown as the site takes it.

    Parameters
    ----------
    text : str
        The page.
    here : Path
        The page's file.
    places : mapping of Path to str
        Where files stand on the site, as paths from its root.
    execute : bool
        Whether blocks of Python and commands are run.
    """

    def place(target: str) -> str:
        return places.get(Path(os.path.normpath(here.parent / target)), target)

    def link(found: re.Match[str]) -> str:
        return found[1] + place(found[2]) + found[3]

    def picture(found: re.Match[str]) -> str:
        return "\n\n".join(
            f"```{{image}} {place(found[theme])}\n:class: only-{theme}\n:width: {found['width']}px\n"
            f":alt: {' '.join(found['alt'].split())}\n```"
            for theme in ("light", "dark")
        )

    def block(found: re.Match[str]) -> str:
        language, contents = found[1], found[2]
        if execute and language in ("python", ""):
            if is_nested:
                raise ValueError(f"{here}: blocks within ::: would not be run; end it before them.")
            magic = "" if language else "%%commands\n"
            return f"```{{code-cell}} ipython3\n{magic}{contents}```"
        return f"```{SHOWN.get(language, language)}\n{contents}```"

    head = HEAD if execute and RUN.search(text) else ""
    parts = FENCED.split(text)
    parts[::2] = [PICTURE.sub(picture, LINK.sub(link, prose)) for prose in parts[::2]]
    for at in range(1, len(parts), 2):
        colons = re.findall(r"^:{3,}(\{)?", "".join(parts[:at:2]), flags=re.MULTILINE)
        is_nested = len(colons) != 2 * sum(map(bool, colons))
        parts[at] = BLOCK.sub(block, parts[at])
    return head + "".join(parts)
