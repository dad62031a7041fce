"""Power, detectable effects and sizes: in closed form and by simulation."""

from .closed_form import power
from .result import Power
from .simulation import SimulatedPower, power_by_simulation

__all__ = ["Power", "SimulatedPower", "power", "power_by_simulation"]
