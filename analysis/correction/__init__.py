"""Corrections of what models answer by what people answer, bounds for what nobody answered, and plans."""

from typing import TYPE_CHECKING

from ...inference.lazy_names import import_when_used

if TYPE_CHECKING:
    from .bounds import covering_interval, tipping_share
    from .correction_methods import CovariateAdjustment, DesignBased, PredictThenDebias, SwappingErrors
    from .labelling_plan import label_plan
    from .misclassification import calibration_split, rates

__all__ = [
    "CovariateAdjustment",
    "DesignBased",
    "PredictThenDebias",
    "SwappingErrors",
    "calibration_split",
    "covering_interval",
    "label_plan",
    "rates",
    "tipping_share",
]

import_when_used(
    __name__,
    {
        ".bounds": ("covering_interval", "tipping_share"),
        ".correction_methods": ("CovariateAdjustment", "DesignBased", "PredictThenDebias", "SwappingErrors"),
        ".labelling_plan": ("label_plan",),
        ".misclassification": ("calibration_split", "rates"),
    },
)
