"""Perturbed copies of items: seeded minimal pairs that differ within a span, at a stated rate."""

from ..tables.columns import KINDS
from .lexicon import Lexicon, load_lexicon, read_lexicon, varieties
from .pairs_sheet import sheet
from .perturb import RATES, TOLERANCE, Change, Perturbation, applied, perturb_text, undone
from .perturbed_copies import Perturbed, perturb_items
from .spans import Segment, line_segments

__all__ = [
    "KINDS",
    "RATES",
    "TOLERANCE",
    "Change",
    "Lexicon",
    "Perturbation",
    "Perturbed",
    "Segment",
    "applied",
    "line_segments",
    "load_lexicon",
    "perturb_items",
    "perturb_text",
    "read_lexicon",
    "sheet",
    "undone",
    "varieties",
]
