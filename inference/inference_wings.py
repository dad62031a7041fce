"""Where the rest of the layer reaches a wing: all else works where the folder of a wing is absent."""

from __future__ import annotations

from typing import Any

from .entry_registry import Registry

WINGS: Registry[Any] = Registry(
    "conjury.wings",
    places={
        "cluster": "conjury.inference.backends.cluster.ray_backend:backend_of_run",
        "manifests_of_pictures": "conjury.inference.vignettes.jobs.picture_manifest",
        "conjoint_exports": "conjury.inference.humans.conjoint_export:read_qualtrics",
        "study_drafts": "conjury.inference.humans.conjoint_export:draft_study",
        "ids": "conjury.inference.humans.text_tables:make_ids",
        "exports": "conjury.inference.humans.collected_export:read_export",
    },
)
