"""Problem (10), the source of the NP-hardness proof, and the reduction that does prove it.

As printed, (10) has identical machines, no release times and no limit on how many machines serve
a job at once: shortest processing time first solves it. Nor is R||sum C_j, which the paper cites
as NP-hard, any harder than an assignment problem. What is NP-hard is Pm|pmtn,r_j|sum C_j, for
each number of machines m >= 2 (Theoretical Computer Science 75 (1990) 347-355); integer
preemptions lose nothing on identical machines (Operations Research Letters 40 (2012) 440-444).
``reduction`` states it as an instance of (2), and so proves Theorem 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from formulations.preemptive.instance import Instance, whole_slots
from optsched.errors import InputError
from optsched.instances.arrays import compress, ranges
from optsched.model import Model
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation


def problem_10(instance: Instance, *, releases: bool = False, parallel: bool = True) -> Model:
    """(10): least sum of completion times on identical machines, with preemption.

    A job asks for its p_j = D_j p^0_j machine-slots from any machine.

    Args:
        instance: its edge workers are the machines; delays, types and the cloud are not looked
            at, release times and p_j are taken up to whole slots.
        releases: keep release times, which (10) does not print.
        parallel: let any number of machines serve a job at once, as printed; if not, one.

    Raises:
        InputError: there is no edge worker.
    """
    machines = instance.workers
    if machines == 0:
        raise InputError.of("workers", 0, "at least one machine")
    work = instance.work_slow
    first = whole_slots(instance.release_time) if releases else np.zeros_like(work)
    end = np.full(instance.jobs, int(first.max()) + int(work.sum()))
    job, slot = ranges(first, end)
    model = Model("problem (10)")
    y = model.binary("y", (len(job), machines), formula="y_{js}(t)")
    completion = model.integer("completion", instance.jobs, lower=first, upper=end, formula="C_j")
    active = model.binary("active", len(job), formula=r"[\sum_s y_{js}(t) > 0]")
    model.minimize(completion.sum(), formula=r"\sum_j c_j")
    served = y.sum(axis=1)
    done = served.sum_by(job, instance.jobs)
    model.add("10a", done >= work, formula=r"\sum_s \sum_t y_{js}(t) \ge p_j")
    row, slots = compress(slot)
    key = row[:, None] * machines + np.arange(machines)
    taken = y.sum_by(key, len(slots) * machines)
    model.add("10b", taken <= 1, formula=r"\sum_j y_{js}(t) \le 1")
    if not parallel:
        model.add("one machine", served <= 1)
    model.add("active", y <= active.reshape(-1, 1))
    model.add("completion", completion[job] >= active * (slot + 1), formula=
              r"C_j \ge (t + 1) [\sum_s y_{js}(t) > 0]")  # fmt: skip
    return model


def reduction(release_time: ArrayLike, processing_time: ArrayLike, machines: int) -> Instance:
    """Pm|pmtn,r_j|sum C_j as an instance of (2), whose optimum is that of sum C_j - r_j.

    One chunk per job, one server of identical workers without delay; the cloud is so far that
    no job gains by it. The sizes of all numbers are polynomial in those of the source.

    Args:
        release_time: r_j, whole slots, shape (jobs,).
        processing_time: p_j >= 1, whole slots, shape (jobs,).
        machines: m >= 1.

    Raises:
        InputError: a number out of range.
    """
    release = np.asarray(release_time, dtype=np.float64)
    work = np.asarray(processing_time, dtype=np.float64)
    if machines < 1:
        raise InputError.of("machines", machines, "an integer >= 1")
    for name, value in (("release_time", release), ("processing_time", work)):
        if not np.array_equal(value, np.round(value)):
            raise InputError.of(name, value.tolist(), "whole slots")
    # later than any schedule without idle time can end
    far = float(release.max(initial=0.0) + work.sum()) + 1.0
    return Instance.build(
        release_time=release,
        num_chunks=1,
        chunk_time_slow=work,
        upload_delay_edge=np.zeros((len(release), 1)),
        upload_delay_cloud=far,
        worker_server=np.zeros(machines),
    )


FORMULATIONS = (
    Formulation("problem_10", problem_10, "problem (10)",
                "source of the NP-hardness proof: identical machines, sum of completion times",
                solver="cpsat",
                equations={"10": OBJECTIVE, "10a": "10a", "10b": "10b", "10c": "y"}),
)  # fmt: skip
