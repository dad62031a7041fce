"""The command line with an engine for clusters that notes each request that it is asked, for tests.

``python -m fakes.cluster_run collect ...`` answers judges with ``engine: {name: counted}``. Each request is
noted in the file that ASKED names, as the number of the worker's process and the key. With BROKEN_AFTER the
engine breaks once so many are noted.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from conjury.cli.main import main
from conjury.inference.backends.cluster.ray_engines import ENGINES, Rehearsal, rehearse


class Counted(Rehearsal):
    """Note a request, then answer it."""

    def answer(self, key: str, body: str) -> dict[str, Any]:
        with open(os.environ["ASKED"], "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {key}\n")
            broken = "BROKEN_AFTER" in os.environ and file.tell() > 39 * int(os.environ["BROKEN_AFTER"])
        if broken:
            raise RuntimeError("the engine is out of memory")
        return super().answer(key, body)


if __name__ == "__main__":
    ENGINES["counted"] = partial(rehearse, answer=Counted)
    main()
