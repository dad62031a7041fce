"""Pages of docs/ as MyST notebooks: their blocks become cells, their pictures and links those of the site."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

HEAD = """---
file_format: mystnb
kernelspec:
  name: python3
---

```{code-cell} ipython3
:tags: [remove-cell]

%load_ext cells
```

"""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\s*'
    r'<img src="(?P<light>[^"]+)" width="(?P<width>\d+)"\s+alt="(?P<alt>[^"]+)">\s*</picture>'
)
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")


def _cell(found: re.Match[str]) -> str:
    language, text = found[1], found[2]
    if language in ("python", ""):
        magic = "" if language else "%%commands\n"
        return f"```{{code-cell}} ipython3\n{magic}{text}```"
    return f"```{ {'sh': 'bash', 'py': 'python'}.get(language, language) }\n{text}```"


def _picture(found: re.Match[str]) -> str:
    return "\n\n".join(
        f"```{{image}} {found[theme]}\n:class: only-{theme}\n:width: {found['width']}px\n:alt: {found['alt']}\n```"
        for theme in ("light", "dark")
    )


def page(text: str, here: Path, places: Mapping[Path, str]) -> str:
    """A page of Markdown as the site takes it.

    Parameters
    ----------
    text : str
        The page.
    here : Path
        The page's file.
    places : mapping of Path to str
        Where files outside docs/ stand on the site, as a page's path from the root of the site.
    """

    def link(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(here.parent / found[2]))
        return found[1] + places[target] + found[3] if target in places else found[0]

    text = PICTURE.sub(_picture, LINK.sub(link, text))
    return HEAD + BLOCK.sub(_cell, text) if BLOCK.search(text) else text
