"""Problem (11): the dual for an offline machine that speed augmentation has left behind.

(11) is (6) with every rate divided by 1 + epsilon. Its rows read
alpha' <= w_j (t - r_j) + (1 + epsilon) p^on_jw beta'_w(t), where p^on is the duration online.
"""

from __future__ import annotations

from dataclasses import replace

from formulations.preemptive.instance import Instance
from formulations.preemptive.problem_4 import Rates
from formulations.preemptive.problem_6 import dual_of_4
from optsched.errors import InputError
from optsched.model import Model
from optsched.problem.methods import Formulation


def at_offline_speed(instance: Instance, epsilon: float) -> Instance:
    """The instance whose run at speed 1 + epsilon has the chunk times given.

    Args:
        instance: chunk times are those of the online machine.
        epsilon: speed augmentation.

    Raises:
        InputError: ``epsilon`` is not a finite number >= 0.
    """
    if not 0 <= epsilon < float("inf"):
        raise InputError.of("epsilon", epsilon, "a finite number >= 0")
    return replace(
        instance,
        chunk_time_slow=instance.chunk_time_slow * (1 + epsilon),
        chunk_time_fast=instance.chunk_time_fast * (1 + epsilon),
        jobs_document=None,
    )


def problem_11(
    instance: Instance,
    *,
    epsilon: float = 0.0,
    rates: Rates = "fast",
    chunk_parallelism: bool = True,
) -> Model:
    """(11): as (6), rates divided by 1 + epsilon.

    Args:
        instance: chunk times are those of the online machine, as in (11a); for an instance that
            holds those of the offline machine, (11) is ``problem_6`` itself. Times are taken up
            to whole slots.
        epsilon: speed augmentation of the online machine.
        rates: "fast" or "slow": the one speed of a job.
        chunk_parallelism: keep the dual variable of (4e), as in ``problem_6``.

    Raises:
        InputError: ``epsilon`` is out of range, or ``rates`` is neither "fast" nor "slow".
    """
    return dual_of_4(
        at_offline_speed(instance, epsilon),
        "problem (11)",
        "11a",
        rates=rates,
        chunk_parallelism=chunk_parallelism,
    )


FORMULATIONS = (
    Formulation("problem_11", problem_11, "problem (11)",
                "(6) with every rate divided by 1 + epsilon: the dual of the offline machine"),
)  # fmt: skip
