"""Where the rest of the layer reaches a wing: all else works where the folder of a wing is absent."""

from __future__ import annotations

from typing import Any

from conjury.inference.entry_registry import Registry

WINGS: Registry[Any] = Registry(
    "conjury.wings",
    places={
        "bayes": "conjury.analysis.conjoint.engines.bayes.engine:estimate_with_bayes",
        "determinism": "conjury.analysis.instrument.determinism:determinism",
        "deviations": "conjury.analysis.report.paper.deviations:compare_with_registration",
        "layouts": "conjury.analysis.report.paper.result_layouts",
    },
)
PUBLISHED: Registry[Any] = Registry(  # by the name of a study: published numbers with those of a fit
    "conjury.published",
    places=dict.fromkeys(
        ("harm_or_humor", "moderation", "multiturn", "oogiri"),
        "conjury.analysis.pipeline.wings.published:published_tables",
    ),
)
