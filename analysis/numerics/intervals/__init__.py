"""Intervals: one function per quantity, and other kinds for studies that name them."""

from .interval_limits import CORRELATION as CORRELATION
from .interval_limits import METHODS as METHODS
from .interval_limits import NO_BOOTSTRAP as NO_BOOTSTRAP
from .interval_limits import SAME as SAME
from .interval_limits import SHARE as SHARE
from .interval_limits import UNBOUNDED as UNBOUNDED
from .interval_limits import BootstrapInterval as BootstrapInterval
from .interval_limits import BootstrapSample as BootstrapSample
from .interval_limits import Inference as Inference
from .interval_limits import InfluenceMoments as InfluenceMoments
from .interval_limits import Support as Support
from .interval_limits import basic as basic
from .interval_limits import bca as bca
from .interval_limits import check_alpha as check_alpha
from .interval_limits import check_draws as check_draws
from .interval_limits import cut as cut
from .interval_limits import draw_limits as draw_limits
from .interval_limits import inference as inference
from .interval_limits import jeffreys as jeffreys
from .interval_limits import level_of_t as level_of_t
from .interval_limits import percentile as percentile
from .interval_limits import studentized as studentized
from .interval_limits import vary as vary
from .interval_limits import varying_limits as varying_limits
from .interval_limits import wilson as wilson
