"""Whether published means and standard deviations of ratings are possible, and which others are."""

from __future__ import annotations

from collections.abc import Sequence

from conjury.inference.errors import InputError

from .numbers import Printed, Rounding
from .rating_arithmetic import (
    LARGEST_N,
    Divisor,
    Number,
    RatingGrid,
    fits,
    fitting_sizes,
    printed,
    root,
    sums,
    variance_bounds,
)


def as_published(value: str | Printed, what: str) -> Printed:
    """A published number from its text; floats are refused, since they lose trailing zeros."""
    if isinstance(value, Printed):
        return value
    if not isinstance(value, str):
        raise InputError(f"{what} is {value!r}; give it as text, such as '2.60', since trailing zeros count.")
    return Printed.read(value)


def check_size(n: int) -> int:
    """A sample size, if it is one."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n is {n!r}; give a sample size of 1 or more.")
    return n


def mean_is_possible(
    mean: str | Printed,
    n: int,
    scale: Sequence[Number],
    *,
    step: Number = 1,
    items: int = 1,
    rounding: Rounding = "nearest",
) -> bool:
    """Whether n ratings on a finite scale can have a published mean.

    The GRIM test [1]_ with the ends of the scale, in exact arithmetic.

    Parameters
    ----------
    mean : str or Printed
        As published: trailing zeros count.
    n : int
        Sample size.
    scale : sequence of two numbers
        Lowest and highest rating.
    step : number
        Distance of neighbouring ratings, such as 1 or "0.5".
    items : int
        Items, or raters, whose average is one of the n scores.
    rounding : {"nearest", "truncated", "rounded up"}
        How the mean was rounded.

    Returns
    -------
    bool
        Whether there are n ratings with this mean as published.

    Raises
    ------
    InputError
        For a mean that is no text of a number, a scale that its steps do not fill, or a sample size below 1.

    References
    ----------
    .. [1] Brown, N. J. L., Heathers, J. A. J. (2017). The GRIM test. Social Psychological and Personality
       Science 8, 363-369. doi:10.1177/1948550616673876

    Examples
    --------
    >>> mean_is_possible("3.44", 25, [1, 5]), mean_is_possible("3.45", 25, [1, 5])
    (True, False)
    """
    return fits(
        as_published(mean, "mean").interval(rounding), None, check_size(n), RatingGrid.of(scale, step, items)
    )


def mean_sd_is_possible(
    mean: str | Printed,
    sd: str | Printed,
    n: int,
    scale: Sequence[Number],
    *,
    step: Number = 1,
    items: int = 1,
    divisor: Divisor = "n-1",
    rounding: Rounding = "nearest",
) -> bool:
    """Whether n ratings on a finite scale can have a published mean and standard deviation together.

    The answer is exact: True if and only if there are n ratings with this mean and standard deviation.
    GRIMMER [1]_ tests conditions that are necessary; CLOSURE [2]_ lists all such ratings; DEBIT [3]_ is the
    case of the scale 0 to 1.

    Parameters
    ----------
    mean, sd : str or Printed
        As published: trailing zeros count.
    n : int
        Sample size.
    scale : sequence of two numbers
        Lowest and highest rating.
    step : number
        Distance of neighbouring ratings, such as 1 or "0.5".
    items : int
        Items, or raters, whose average is one of the n scores.
    divisor : {"n-1", "n"}
        Of the variance.
    rounding : {"nearest", "truncated", "rounded up"}
        Of both numbers.

    Returns
    -------
    bool
        Whether there are n ratings with both numbers as published.

    Raises
    ------
    InputError
        As in `mean_is_possible`.

    References
    ----------
    .. [1] Anaya, J. (2016). The GRIMMER test. PeerJ Preprints 4, e2400v1. doi:10.7287/peerj.preprints.2400v1
    .. [2] Alsalti, T., Jung, L., Heathers, J. et al. CLOSURE: complete listing of original samples of
       underlying raw evidence. It makes SPRITE exact: Heathers, J. A., Anaya, J., van der Zee, T., Brown,
       N. J. L. (2018). PeerJ Preprints 6, e26968v1. doi:10.7287/peerj.preprints.26968v1
    .. [3] Heathers, J. A. J., Brown, N. J. L. (2019). DEBIT: A simple consistency test for binary data. OSF.

    Examples
    --------
    >>> mean_sd_is_possible("3.44", "1.19", 25, [1, 5]), mean_sd_is_possible("3.44", "1.20", 25, [1, 5])
    (True, False)
    """
    values = RatingGrid.of(scale, step, items)
    mean_in = as_published(mean, "mean").interval(rounding)
    return fits(mean_in, as_published(sd, "sd").interval(rounding), check_size(n), values, divisor)


def possible_sds(
    mean: str | Printed,
    n: int,
    scale: Sequence[Number],
    *,
    digits: int = 2,
    step: Number = 1,
    items: int = 1,
    divisor: Divisor = "n-1",
    rounding: Rounding = "nearest",
) -> list[str]:
    """All standard deviations that n ratings with a published mean can have, as they would be published.

    Parameters
    ----------
    mean, n, scale
        As in `mean_sd_is_possible`.
    digits : int
        Decimals of the standard deviations.
    step, items, divisor, rounding
        As in `mean_sd_is_possible`.

    Returns
    -------
    list of str
        In ascending order; empty where the mean is not possible.

    Raises
    ------
    InputError
        As in `mean_is_possible`.

    Examples
    --------
    >>> possible_sds("1.25", 4, [1, 5])
    ['0.50']
    """
    values = RatingGrid.of(scale, step, items)
    inside = as_published(mean, "mean").interval(rounding)
    totals = sums(inside, check_size(n), values)
    if not totals or (n == 1 and divisor == "n-1"):
        return []
    ends = [variance_bounds(values.lowest + total * values.step / n, n, values, divisor) for total in totals]
    first = root(min(end.lower for end in ends) * 100**digits)
    last = root(max(end.upper for end in ends) * 100**digits)
    tried = (printed(index, digits) for index in range(max(first - 1, 0), last + 2))
    return [sd.text for sd in tried if fits(inside, sd.interval(rounding), n, values, divisor)]


def sample_sizes(
    pairs: Sequence[tuple[str | Printed, str | Printed | None]],
    scale: Sequence[Number],
    *,
    largest: int = LARGEST_N,
    step: Number = 1,
    items: int = 1,
    divisor: Divisor = "n-1",
    rounding: Rounding = "nearest",
) -> list[int]:
    """Sample sizes under which all published means, and standard deviations where there are, are possible.

    Many pairs of one sample size leave few sizes, often one.

    Parameters
    ----------
    pairs : sequence of (mean, sd)
        As published; ``sd`` may be None.
    scale
        As in `mean_sd_is_possible`.
    largest : int
        Up to which sample sizes are tried.
    step, items, divisor, rounding
        As in `mean_sd_is_possible`.

    Returns
    -------
    list of int
        The sample sizes, in ascending order.

    Raises
    ------
    InputError
        As in `mean_is_possible`.

    Examples
    --------
    >>> sample_sizes([("3.44", "1.19")], [1, 5], largest=40)
    [25, 27, 32, 34, 39]
    >>> sample_sizes([("3.44", "1.19"), ("2.96", "1.06"), ("4.08", "0.86")], [1, 5], largest=60)
    [25]
    """
    values = RatingGrid.of(scale, step, items)
    sizes = list(range(1, largest + 1))
    for mean, sd in pairs:
        inside = as_published(mean, "mean").interval(rounding)
        spread = None if sd is None else as_published(sd, "sd").interval(rounding)
        sizes = list(fitting_sizes(inside, spread, values, sizes, divisor))
    return sizes
