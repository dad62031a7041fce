"""A case for each sentence that states conditions: a drawn table, the sentence, and counts of one's own."""

from sentence_cases import answers, conduct, effects, items, simulations
from sentence_cases.drawing import CASES, check_grammar

__all__ = ["CASES", "answers", "check_grammar", "conduct", "effects", "items", "simulations"]
