"""Figures: one theme, one module a figure; matplotlib is imported when a figure is drawn."""

from .coefficients import coefficient_alt, coefficient_plot
from .engines import engines_alt, engines_plot
from .interactions import interaction_alt, interaction_plot
from .marginal_means import marginal_means_alt, marginal_means_plot
from .published import beside_published, published_alt, published_plot
from .theme import save

__all__ = [
    "beside_published",
    "coefficient_alt",
    "coefficient_plot",
    "engines_alt",
    "engines_plot",
    "interaction_alt",
    "interaction_plot",
    "marginal_means_alt",
    "marginal_means_plot",
    "published_alt",
    "published_plot",
    "save",
]
