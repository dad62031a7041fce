"""Figures: one theme, one module a figure; matplotlib is imported when a figure is drawn."""

from .conjoint.choose import figure_of
from .conjoint.coefficients import coefficient_alt, coefficient_plot
from .conjoint.engines import engines_alt, engines_plot
from .conjoint.frequencies import frequencies_alt, frequencies_plot, proportions_plot
from .conjoint.interactions import interaction_alt, interaction_plot
from .conjoint.marginal_means import marginal_means_alt, marginal_means_plot
from .conjoint.published import published_alt, published_plot
from .conjoint.target import target_alt, target_plot
from .conjoint.truth import truth_alt, truth_plot
from .theme import save, save_variants

__all__ = [
    "coefficient_alt",
    "coefficient_plot",
    "engines_alt",
    "engines_plot",
    "figure_of",
    "frequencies_alt",
    "frequencies_plot",
    "interaction_alt",
    "interaction_plot",
    "marginal_means_alt",
    "marginal_means_plot",
    "proportions_plot",
    "published_alt",
    "published_plot",
    "save",
    "save_variants",
    "target_alt",
    "target_plot",
    "truth_alt",
    "truth_plot",
]
