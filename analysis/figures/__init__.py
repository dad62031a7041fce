"""Figures: one theme, one module a figure; matplotlib is imported when a figure is drawn."""

from .choose import figure_of
from .coefficients import coefficient_alt, coefficient_plot
from .engines import engines_alt, engines_plot
from .frequencies import frequencies_alt, frequencies_plot
from .interactions import interaction_alt, interaction_plot
from .marginal_means import marginal_means_alt, marginal_means_plot
from .proportions import proportions_plot
from .published import beside_published, published_alt, published_plot
from .target import target_alt, target_plot
from .theme import save, save_variants
from .truth import truth_alt, truth_plot

__all__ = [
    "beside_published",
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
