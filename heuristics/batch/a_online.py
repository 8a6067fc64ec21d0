"""A_online and BatchSche: one scheme, with and without the choice of a single server."""

from __future__ import annotations

import numpy as np

from formulations.batch.instance import Instance
from formulations.batch.schedule import Schedule
from heuristics.batch.rounds import in_rounds
from heuristics.batch.rules import (
    CostC,
    CostD,
    JobOrder,
    ReleaseTest,
    Rules,
    Selection,
    StartRule,
    ValueRule,
)


def a_online(
    instance: Instance,
    rng: np.random.Generator,
    *,
    selection: Selection = "paper",
    start_rule: StartRule = "interval_start",
    release_test: ReleaseTest = "printed",
    value_rule: ValueRule = "one",
    job_order: JobOrder = "arrival",
    cost_d: CostD = "exact",
    cost_c: CostC = "exact",
    printed: bool = False,
) -> Schedule:
    """A_online (Algorithms 1 to 4); it takes the options of ``Rules``.

    Without an unlimited cloud a round may accept a single job, and the next lasts twice as long:
    jobs may then wait for exponentially long times.

    Args:
        instance: jobs and servers.
        rng: not drawn from.
        selection: what is best, and whether prices may veto.
        start_rule: where in the window a job may start.
        release_test: when an upload counts as done.
        value_rule: what a job is worth.
        job_order: order inside a round.
        cost_d: COST_D exact or as printed.
        cost_c: COST_C exact or as printed.
        printed: Algorithms 2 to 4 line by line, errors included: jobs are booked over and over,
            and those whose last booking finds no room are accepted and never run.

    Raises:
        InputError: an option out of range, or one that ``printed`` contradicts.
    """
    rules = Rules(
        selection, start_rule, release_test, value_rule, job_order, cost_d, cost_c, printed=printed
    )
    return in_rounds(instance, rules)


def batch_sche(
    instance: Instance,
    rng: np.random.Generator,
    *,
    selection: Selection = "paper",
    start_rule: StartRule = "interval_start",
    release_test: ReleaseTest = "printed",
    value_rule: ValueRule = "one",
    job_order: JobOrder = "arrival",
) -> Schedule:
    """BatchSche: the same rounds and prices, blind to location: never the fast speed.

    Workers and parameter server are placed in order of price, and a job pays for communication
    even where they happen to meet. Arguments and errors are as of ``a_online``; the weighted
    version is ``value_rule="weight", job_order="weight_per_cost"``.
    """
    rules = Rules(selection, start_rule, release_test, value_rule, job_order, one_server=False)
    return in_rounds(instance, rules)
