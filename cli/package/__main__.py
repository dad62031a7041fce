"""``python -m conjury`` is the command ``conjury``."""

from conjury.cli.main import main

main()
