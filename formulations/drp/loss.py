"""(21): the work of a job from the loss that is wanted, in place of its epochs (Section 3.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from formulations.drp.instance import Floats
from optsched.errors import InputError


def flops_for_loss(
    least_compute: ArrayLike, base: ArrayLike, loss: ArrayLike, batches: ArrayLike
) -> Floats:
    """g_k for which a job of one epoch takes C_min / log_alpha L FLOP in all, shape (jobs,).

    A server does the share of it that it has of the job's data, as under (2), so that every model
    and algorithm stays as it is. Taken literally, (21) has every server with some of a job's data
    do all of it.

    Args:
        least_compute: C_min of each job, FLOP.
        base: alpha of each job, > 1.
        loss: L of each job, > 1: below 1 the logarithm is negative, and with both below 1 a lower
            loss would take less work.
        batches: mini-batches in all the job's data.

    Raises:
        InputError: a base or a loss that is not above 1.

    Example:
        >>> flops_for_loss(8e12, 2.0, [2.0, 4.0], 1000).tolist()
        [8000000000.0, 4000000000.0]
    """
    for name, given in (("base", base), ("loss", loss)):
        if not (np.asarray(given) > 1).all():
            raise InputError.of(name, given, "numbers > 1")
    work = np.asarray(least_compute, dtype=float) / (np.log(loss) / np.log(base))
    return np.asarray(work / np.asarray(batches, dtype=float))
