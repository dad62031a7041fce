"""Checks of a study's design, respondents and answers: what ``conjury diagnose`` runs.

Examples
--------
>>> from conjury.analysis.diagnostics import diagnose
>>> from conjury.inference.simulation import simulate
>>> from conjury.inference.study import load_study
>>> study = load_study("moderation")
>>> made = simulate(study, seed=1, judges=["gpt4o"], prompts=["baseline"], pairs=200)
>>> diagnose(study, made.choices)[0].title
'Design card'
"""

from .check import Check, diagnose

__all__ = ["Check", "diagnose"]
