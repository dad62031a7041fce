"""How much is read from a file, and how large a study may be: every limit, in one place.

They are far above real use, and stop a damaged, mistaken or hostile input before memory or time runs out.
Parquet tables have no limit of size: their files state how large they are, and that is checked.
"""

from __future__ import annotations

TABLE_BYTES = 2**30  # a CSV of choices or judgments, unpacked
EXPORT_BYTES = 2**28  # an export of another program, or any other JSON or text, unpacked
YAML_BYTES = 2**20
LINE_BYTES = 2**26  # bytes of a CSV without a line break
CELL_CHARACTERS = 2**24
COLUMNS = 10_000

DEPTH = 100  # lists and mappings inside of each other
YAML_VALUES = 250_000  # counted once for each place where an alias puts them
DIGITS = 40

ATTRIBUTES = 100
LEVELS = 1_000  # of an attribute
PROFILES = 10_000_000  # that are enumerated
TRUE_CELLS = 20_000  # combinations of attributes, each compared with each other for true values
PAIRS = 1_000_000
RESPONDENTS = 100_000
TASKS = 1_000  # of a respondent
STIMULI = 10_000  # of a level
SCALE_POINTS = 1_001
SAMPLES = 10_000
ITEMS = 1_000_000
DRAWS = 100_000  # of a bootstrap, or of a chain
CHAINS = 100
REQUESTS = 10_000  # in flight

TEMPLATE_STEPS = 100_000  # passes through the loops and macros of a template
TEMPLATE_CHARACTERS = 10_000_000
