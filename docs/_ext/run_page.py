"""Run the blocks of one page as the site does, in an empty folder, and print what they print.

For example ``python docs/_ext/run_page.py docs/howto/analysing/ratings.md``.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import cells
import site_pages
from IPython.core.interactiveshell import InteractiveShell


def main() -> int:
    """Return 1 if a block fails."""
    page = Path(sys.argv[1]).read_text(encoding="utf-8")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ |= {"MPLBACKEND": "agg", "COLUMNS": "100", "NO_COLOR": "1"}
    shell = InteractiveShell.instance(colors="NoColor")
    cells.load_ipython_extension(shell)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CONFIG_HOME"] = f"{folder}/settings"
        for language, block in site_pages.BLOCK.findall(page):
            if language not in ("", "python"):
                continue
            began = time.monotonic()
            print(f"---- {language or 'commands'}\n{block}", end="")
            ran = shell.run_cell(block if language else f"%%commands\n{block}")
            print(f"---- {time.monotonic() - began:.1f} s")
            if not ran.success:
                return 1
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
