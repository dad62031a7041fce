"""Other packages as methods of trials; what is not installed is excluded with a note."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pandas as pd

from conjury.inference.errors import MissingDependency

from ...frames.variables import parse
from ..trial_registry import method
from .conjoint_methods import FORMULA


def _library(name: str, package: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingDependency(f"{package} is not installed; pip install {package}.") from None


def _names_of_terms(terms: list[str]) -> list[str]:
    """Quantities from names of dummies such as ``C(tone)[T.rude]`` or ``tone[T.rude]``."""
    return [term.replace("C(", "").replace(")", "").replace("[T.", "=").rstrip("]") for term in terms]


@method("statsmodels")
def ols_of_statsmodels(
    data: pd.DataFrame, *, id: str | None = None, formula: str = FORMULA, alpha: float = 0.05
) -> pd.DataFrame:
    """Least squares with statsmodels' covariance, by clusters or HC1."""
    ols = _library("statsmodels.formula.api", "statsmodels").ols

    parse(formula)  # other packages run what a formula contains as Python
    model = ols(formula, data)
    kind = {"cov_type": "HC1"}
    if id is not None:
        kind = {"cov_type": "cluster", "cov_kwds": {"groups": data[id].to_numpy()}}  # type: ignore[dict-item]
    fit = model.fit(**kind)
    limits = fit.conf_int(alpha)
    return pd.DataFrame(
        {
            "quantity": _names_of_terms([str(name) for name in fit.params.index]),
            "estimate": fit.params.to_numpy(),
            "std_error": fit.bse.to_numpy(),
            "lower": limits[0].to_numpy(),
            "upper": limits[1].to_numpy(),
            "p": fit.pvalues.to_numpy(),
        }
    )


@method("pyfixest")
def feols_of_pyfixest(
    data: pd.DataFrame, *, id: str, vcov: str = "CRV1", formula: str = FORMULA, alpha: float = 0.05
) -> pd.DataFrame:
    """Least squares with pyfixest's covariance by clusters, CRV1 or CRV3."""
    pyfixest = _library("pyfixest", "pyfixest")
    parse(formula)
    fit = pyfixest.feols(formula, data, vcov={vcov: id})
    table = fit.tidy(alpha=alpha)
    limits = [name for name in table if name.endswith("%")]
    return pd.DataFrame(
        {
            "quantity": _names_of_terms([str(name) for name in table.index]),
            "estimate": table["Estimate"].to_numpy(),
            "std_error": table["Std. Error"].to_numpy(),
            "lower": table[limits[0]].to_numpy(),
            "upper": table[limits[1]].to_numpy(),
            "p": table["Pr(>|t|)"].to_numpy(),
        }
    )


@method("cregg")
def amce_of_cregg(
    data: pd.DataFrame, *, id: str, formula: str = FORMULA, alpha: float = 0.05
) -> pd.DataFrame:
    """AMCEs of R's cregg."""
    from ...conjoint import amce
    from ...r import available
    from .conjoint_methods import quantities

    if available().packages.get("cregg") is None:
        raise MissingDependency("R's cregg is not installed; CONTRIBUTING says how to install it.")
    return quantities(amce(data, formula, id=id, engine="cregg", alpha=alpha).frame)


@method("projoint")
def conventions_of_projoint(
    data: pd.DataFrame, *, formula: str = FORMULA, alpha: float = 0.05
) -> pd.DataFrame:
    """AMCEs by the conventions of R's projoint, corrected for swapping errors."""
    from ...conjoint import projoint
    from .conjoint_methods import quantities

    return quantities(projoint(data, formula, alpha=alpha).frame)


@method("ppi_py")
def least_squares_of_ppi_py(
    data: pd.DataFrame, *, formula: str = FORMULA, alpha: float = 0.05
) -> pd.DataFrame:
    """Power-tuned prediction-powered least squares of ppi_py, which takes rows as independent."""
    ppi = _library("ppi_py", "ppi-python")
    from formulaic import model_matrix

    parse(formula)
    keys = ["pair_id", "position"]
    people = data[data["judge_kind"] == "human"].sort_values(keys)
    model = data[data["judge_kind"] == "model"].sort_values(keys)
    overlap = model["pair_id"].isin(people["pair_id"]).to_numpy()
    terms = formula.partition("~")[2]
    labelled, unlabelled = model_matrix(terms, people), model_matrix(terms, model[~overlap])
    answers = [people["chosen"], model["chosen"][overlap], model["chosen"][~overlap]]
    x, y = labelled.to_numpy(float), [series.to_numpy(float) for series in answers]
    estimate = ppi.ppi_ols_pointestimate(x, y[0], y[1], unlabelled.to_numpy(float), y[2])
    lower, upper = ppi.ppi_ols_ci(x, y[0], y[1], unlabelled.to_numpy(float), y[2], alpha=alpha)
    names = _names_of_terms([str(name) for name in labelled.columns])
    return pd.DataFrame({"quantity": names, "estimate": estimate, "lower": lower, "upper": upper})
