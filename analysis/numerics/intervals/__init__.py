"""Intervals: one function per quantity, and other kinds for studies that name them."""

from .limits import CORRELATION as CORRELATION
from .limits import METHODS as METHODS
from .limits import NO_BOOTSTRAP as NO_BOOTSTRAP
from .limits import SAME as SAME
from .limits import SHARE as SHARE
from .limits import UNBOUNDED as UNBOUNDED
from .limits import BootstrapInterval as BootstrapInterval
from .limits import BootstrapSample as BootstrapSample
from .limits import Inference as Inference
from .limits import InfluenceMoments as InfluenceMoments
from .limits import Support as Support
from .limits import basic as basic
from .limits import bca as bca
from .limits import check_alpha as check_alpha
from .limits import check_draws as check_draws
from .limits import cut as cut
from .limits import draw_limits as draw_limits
from .limits import inference as inference
from .limits import jeffreys as jeffreys
from .limits import level_of_t as level_of_t
from .limits import percentile as percentile
from .limits import studentized as studentized
from .limits import vary as vary
from .limits import varying_limits as varying_limits
from .limits import wilson as wilson
