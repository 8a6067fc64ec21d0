"""Problems (2) and (4) under the paper's own numbers, for instances of a few jobs and slots.

Every worker and every parameter server is named. Those of the cloud are never all taken: each job
has some of its own. Conditions and alternatives stay what they are. ``problem_2`` counts workers by
class and ``problem_4`` leaves out what never binds; both have the same optima.

Completion is the end of the last slot, as everywhere here; as printed it is the index of that slot,
one less for every job.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.preemptive.instance import CLOUD, Booleans, Instance, Integers, whole_slots
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from formulations.preemptive.time_indexed.grid import build_grid
from optsched.model import Model, Variable
from optsched.model.expression import Expression
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation
from optsched.solvers.solution import Solution


class _Places(NamedTuple):
    """Edge workers, or parameter servers, and after them those of the cloud that a job has."""

    edge: int
    fits: Booleans
    """v_jw or o_jp, shape (jobs, places)."""
    ready: Integers
    """First slot in which each may serve the job, shape (jobs, places)."""


def _workers(instance: Instance, cloud: Integers) -> _Places:
    """The workers, with so many of the cloud for each job, shape (jobs,)."""
    own = np.arange(int(cloud.max())) < cloud[:, None]
    own &= np.isfinite(instance.upload_delay_cloud)[:, None]
    ready = _arrivals(instance, instance.worker_server)
    far = np.repeat(_in_cloud(instance)[:, None], own.shape[1], axis=1)
    fits = np.hstack([instance.worker_eligible, own])
    return _Places(instance.workers, fits, np.hstack([ready, far]))


def _servers(instance: Instance, ps_delay_applies: bool) -> _Places:
    """The parameter servers, with one of the cloud for each job."""
    fits = np.hstack([instance.ps_eligible, np.ones((instance.jobs, 1), dtype=bool)])
    ready = np.repeat(whole_slots(instance.release_time)[:, None], fits.shape[1], axis=1)
    if ps_delay_applies:
        ready = np.hstack([_arrivals(instance, instance.ps_server), _in_cloud(instance)[:, None]])
    return _Places(instance.parameter_servers, fits, ready)


def _arrivals(instance: Instance, server: Integers) -> Integers:
    release, delay = instance.release_time[:, None], instance.upload_delay_edge[:, server]
    return whole_slots(release + delay)


def _in_cloud(instance: Instance) -> Integers:
    """Arrival in the cloud; after all slots for a job that is barred from it."""
    arrival = instance.release_time + instance.upload_delay_cloud
    never = np.iinfo(np.int64).max
    barred = np.isinf(arrival)
    return np.where(barred, never, whole_slots(np.where(barred, 0.0, arrival)))


def _slots(instance: Instance, *, slow_cloud: bool, ps_delay_applies: bool) -> Integers:
    """[T], from the first release to where some optimum has done everything."""
    grid = build_grid(instance, hub=False, slow_cloud=slow_cloud, ps_delay_applies=ps_delay_applies)
    return np.arange(int(grid.first_slot.min()), int(grid.end_slot.max()))


def problem_2_literal(instance: Instance, *, ps_delay_applies: bool = False) -> Model:
    """(2) as the paper states it.

    Args:
        instance: tiny; times are taken up to whole slots.
        ps_delay_applies: (2i) of parameter servers as printed, from the end of the upload on;
            otherwise from release on.
    """
    jobs, chunks = instance.jobs, instance.num_chunks
    slots = _slots(instance, slow_cloud=False, ps_delay_applies=ps_delay_applies)
    workers = _workers(instance, chunks)
    model = Model("problem (2), literal")
    shape = (jobs, workers.fits.shape[1], len(slots))
    y = model.binary("y", shape, formula="y_{jsw}(t)")
    zeta = model.binary("zeta", jobs, formula=r"\zeta_j")
    fits = workers.fits[:, :, None].astype(float)
    model.add("2a", y <= np.broadcast_to(fits, shape), formula=r"y_{jsw}(t) \le v_{jsw}")
    done = (y * fits).sum(axis=(1, 2))
    work = r"\sum_{t,s,w} v_{jsw} y_{jsw}(t) n_j \ge E_j D_j B_j"
    model.indicator(zeta, done >= instance.work_slow, active=False, name="2b:apart", formula=work)
    model.indicator(zeta, done >= instance.work_fast, name="2b:in the cloud", formula=work)
    model.add(
        "2c",
        (y * fits).sum(axis=1) <= chunks[:, None],
        formula=r"\sum_{s,w} v_{jsw} y_{jsw}(t) \le D_j",
    )
    model.add(
        "2d",
        (y * fits)[:, : workers.edge].sum(axis=0) <= 1,
        formula=r"\sum_j v_{jsw} y_{jsw}(t) \le 1",
    )
    formula = r"y_{jsw}(t) = z_{jsp}(t) = 0, \quad t < r_j + \Delta_{js}"
    model.add("2i:workers", y[slots < workers.ready[:, :, None]] == 0, formula=formula)
    running = _add_rest(
        model, instance, y, np.arange(jobs), workers, _servers(instance, ps_delay_applies), slots,
        dict(zip("efghi", ("2e", "2f", "2g", "2h", "2i"), strict=True)),
    )  # fmt: skip
    completion = model.last_active(running, slots + 1, name="2j", formula=
        r"c_j = \max \{t : \sum_{s,w} v_{jsw} y_{jsw}(t) > 0\}")  # fmt: skip
    total = completion.sum() - float(instance.release_time.sum())
    model.minimize(total, formula=r"\sum_j (c_j - r_j)")
    return model


def problem_4_literal(instance: Instance, *, ps_delay_applies: bool = False) -> Model:
    """(4) as the paper states it, every job at the speed that zeta_j gives it.

    Args:
        instance: tiny; times are taken up to whole slots, chunk times too.
        ps_delay_applies: (4h) of parameter servers as printed, from the end of the upload on;
            otherwise from release on.
    """
    slots = _slots(instance, slow_cloud=True, ps_delay_applies=ps_delay_applies)
    job = np.repeat(np.arange(instance.jobs), instance.num_chunks)
    workers = _workers(instance, np.ones(instance.jobs, dtype=np.int64))
    workers = workers._replace(fits=workers.fits[job], ready=workers.ready[job])
    edge = workers.edge
    model = Model("problem (4), literal")
    shape = (len(job), edge + 1, len(slots))
    y = model.binary("y", shape, formula="y_{jds}(t)")
    zeta = model.binary("zeta", instance.jobs, formula=r"\zeta_j")
    slow, fast = (whole_slots(t)[job] for t in (instance.chunk_time_slow, instance.chunk_time_fast))
    done = (y * workers.fits[:, :, None].astype(float)).sum(axis=(1, 2))
    work = r"\sum_{t,s,w} y_{jds}(t) n_{jsw} \ge E_j B_j"
    model.indicator(zeta[job], done >= slow, active=False, name="4a:apart", formula=work)
    model.indicator(zeta[job], done >= fast, name="4a:in the cloud", formula=work)
    model.add("4b", y[:, :edge].sum(axis=0) <= 1, formula=r"\sum_j \sum_d y_{jds}(t) \le 1")
    model.add("4e", y.sum(axis=1) <= 1, formula=r"\sum_{s,w} y_{jds}(t) \le 1")
    formula = r"y_{jds}(t), z_{jsp}(t) \text{ exist for } t \ge r_j + \Delta_{js}"
    unused = (slots < workers.ready[:, :, None]) | ~workers.fits[:, :, None]
    model.add("4h:workers", y[unused] == 0, formula=formula)
    of_chunks = _servers(instance, ps_delay_applies)
    _add_rest(
        model, instance, y, job, workers, of_chunks, slots,
        dict(zip("efghi", ("4c", "4d", "4f", "4g", "4h"), strict=True)),
    )  # fmt: skip
    # in the cloud a slot is 1 / p^1 of a chunk if zeta_j = 1, else 1 / p^0
    away = y[:, edge]
    quick = model.product(away, zeta[job].reshape(-1, 1), name="quick", formula=
        r"y_{jds_c}(t) \zeta_j")  # fmt: skip
    share = (slots - instance.release_time[job][:, None]) / instance.num_chunks[job][:, None]
    total = (y * (share / slow[:, None])[:, None, :]).sum()
    total = total + (quick * (share / fast[:, None] - share / slow[:, None])).sum()
    model.minimize(total, formula=r"\sum_j \sum_d f_{jd}(\mathbf{y})")
    return model


def _add_rest(
    model: Model,
    instance: Instance,
    y: Variable,
    owner: Integers,
    workers: _Places,
    servers: _Places,
    slots: Integers,
    number: dict[str, str],
) -> Variable:
    """Add parameter servers and zeta: (2e) to (2i), or (4c), (4d) and (4f) to (4h).

    Args:
        model: with the variables y and zeta.
        instance: the jobs and the system.
        y: shape (owners, places, slots).
        owner: job of each, shape (owners,).
        workers: places of y.
        servers: places of parameter servers.
        slots: [T].
        number: of each row, by its letter in (2).

    Returns:
        Whether a job runs, shape (jobs, slots).
    """
    jobs, span, zeta = instance.jobs, len(slots), model["zeta"]
    shape = (jobs, servers.fits.shape[1], span)
    z = model.binary("z", shape, formula="z_{jsp}(t)")
    running = model.binary("running", (jobs, span), formula=r"[\sum y > 0]")
    counted = y * workers.fits[:, :, None].astype(float)
    model.add("running:if", counted <= running[owner].reshape(len(owner), 1, span))
    key = owner[:, None] * span + np.arange(span)
    busy = counted.sum(axis=1).sum_by(key, jobs * span).reshape(jobs, span)
    model.add("running:only", running <= busy)
    serving = z * servers.fits[:, :, None].astype(float)
    model.indicator(
        running, serving.sum(axis=1) == 1, name=number["e"],
        formula=r"\sum_{s,p} o_{jsp} z_{jsp}(t) = 1 \text{ if the job runs in } t",
    )  # fmt: skip
    exclusive = r"\sum_j o_{jsp} z_{jsp}(t) \le 1"
    model.add(number["f"], serving[:, : servers.edge].sum(axis=0) <= 1, formula=exclusive)
    at_edge, held = y[:, : workers.edge], z[:, : servers.edge]
    used: Expression = at_edge.sum(axis=(1, 2)).sum_by(owner, jobs) + held.sum(axis=(1, 2))
    model.add(
        number["g"], zeta + used >= 1,
        formula=r"\zeta_j = 1 \text{ if all } y_{jsw}(t) = 1, z_{jsp}(t) = 1 \text{ have } s = s_c",
    )  # fmt: skip
    formula = r"\zeta_j = 0 \text{ if some } y_{jsw}(t) = 1 \text{ or } z_{jsp}(t) = 1, s \ne s_c"
    together = zeta.reshape(-1, 1, 1)
    model.add(f"{number['h']}:workers", at_edge + zeta[owner].reshape(-1, 1, 1) <= 1,
              formula=formula)  # fmt: skip
    model.add(f"{number['h']}:parameter servers", held + together <= 1, formula=formula)
    early = np.broadcast_to(slots < servers.ready[:, :, None], shape)
    model.add(f"{number['i']}:parameter servers", z[early] == 0,
              formula=model.blocks[f"{number['i']}:workers"].formula)  # fmt: skip
    return running


def decode_problem_2_literal(
    instance: Instance, solution: Solution, *, ps_delay_applies: bool = False
) -> Schedule:
    """The schedule a solution of ``problem_2_literal`` stands for.

    Services while a job does not run are left out, and a job that only they kept out of the cloud
    is together there.
    """
    slots = _slots(instance, slow_cloud=False, ps_delay_applies=ps_delay_applies)
    rows = []
    for name, edge in (("y", instance.workers), ("z", instance.parameter_servers)):
        job, place, at = np.nonzero(solution[name] > 0.5)
        running = (
            np.ones(len(job), dtype=bool) if name == "y" else (solution["running"][job, at] > 0.5)
        )
        job, place, slot = job[running], place[running], slots[at[running]]
        rows.append((job, np.where(place < edge, place, CLOUD), slot, slot + 1))
    (job, worker, start, end), services = rows
    at_edge = np.concatenate([owner[place != CLOUD] for owner, place, *_ in rows])
    return Schedule.build(
        runs=np.column_stack([job, np.full_like(job, NO_CHUNK), worker, start, end]),
        services=np.column_stack(services),
        together=~np.isin(np.arange(instance.jobs), at_edge),
    )


FORMULATIONS = (
    Formulation(
        "problem_2_literal", problem_2_literal, "problem (2)",
        "row by row under the paper's numbers, every worker named; tiny instances",
        decode_problem_2_literal, solver="cpsat",
        equations={
            "1": "The indicators `2b` have n_j for either value of `zeta`, as whole slots of work.",
            "2": OBJECTIVE, "2a": "2a", "2b": "2b", "2c": "2c", "2d": "2d", "2e": "2e",
            "2f": "2f", "2g": "2g", "2h": "2h", "2i": "2i", "2j": "2j", "2k": "y, z, zeta",
        },
    ),
    Formulation(
        "problem_4_literal", problem_4_literal, "problem (4)",
        "row by row under the paper's numbers, every chunk and worker named; tiny instances",
        equations={
            "3": "Chunk d's part of the objective: the mean of t - r_j over its slots, by `y`, and "
            "by `quick` in the fast cloud, over D_j.",
            "4": OBJECTIVE, "4a": "4a", "4b": "4b", "4c": "4c", "4d": "4d", "4e": "4e",
            "4f": "4f", "4g": "4g", "4h": "4h, y, z, zeta",
        },
    ),
)  # fmt: skip
