"""Power, detectable effects and sizes: in closed form and by simulation."""

from .closed_form import power
from .result import Power
from .simulation import power_by_simulation

__all__ = ["Power", "power", "power_by_simulation"]
