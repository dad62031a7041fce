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
        "published": "conjury.analysis.pipeline.wings.published:published_tables",
    },
)
