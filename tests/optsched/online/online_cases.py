"""Small contended instances of every problem with arrivals, and policies of ten lines each."""

import numpy as np

from formulations.preemptive.instance import CLOUD
from optsched.evaluation.runs import instance_rng
from optsched.problem import problem

OPTIONS = {
    "preemptive": {"jobs": 5, "servers": 3, "types": 1, "span": 6, "time_scale": 0.03},
    "preemptive_storage": {
        "jobs": 5,
        "servers": 3,
        "types": 1,
        "span": 6,
        "time_scale": 0.03,
        "room": 2.0,
    },
    "batch": {"jobs": 4, "servers": 3, "types": 1, "time_scale": 0.03},
    "batch_completion": {"jobs": 4, "servers": 3, "types": 1, "time_scale": 0.03},
    "okita": {"jobs": 3, "sites": 3, "horizon": 6},
    "aerialedge": {"kind": "hard", "tasks": 10, "jobs": 4},
    "llm_inference": {"requests": 4, "arrivals": "poisson"},
}
"""Generator options by problem."""


def instance_of(name, seed):
    """A random small instance of a problem."""
    return problem(name).generate(instance_rng(seed), **OPTIONS[name])


class EarliestFinish:
    """Each chunk where it ends first, as far as is known."""

    def arrive(self, job, state):
        if not len(job.eligible_workers):
            state.send_to_cloud(job)
            return
        for _ in range(job.num_chunks):
            state.send(job, min([*job.eligible_workers, CLOUD], key=lambda w: state.end(job, w)))


class NearestServer:
    """Each job on the server its data reach first that can serve it alone, at once."""

    def arrive(self, job, state):
        room = np.minimum(state.known.worker_capacity[:, job.worker_type], job.num_chunks)
        room[state.known.ps_capacity[:, job.ps_type] < 1] = 0
        server = int(np.argmin(np.where(room >= 1, job.upload_delay, np.inf)))
        state.run(job, {server: int(room[server])}, server)


class OneWorkerAtATime:
    """In every slot one worker for each job in turn, where it fits, beside its server."""

    def slot(self, state):
        for job in state.jobs:
            need = -(-job.rate[1] // job.rate[0]) * job.worker_demand + job.ps_demand
            open_ = np.flatnonzero((state.free() >= need).all(axis=1))
            if len(open_):
                site = int(open_[0])
                state.deploy(job, {site: -(-job.rate[1] // job.rate[0])}, site)


class BestFit:
    """Each task on the fullest node with room."""

    def arrive(self, job, state):
        for task, demand in zip(job.tasks, job.demand, strict=True):
            left = state.free - demand
            fits = np.flatnonzero((left >= -1e-9).all(axis=1))
            state.place(int(task), int(fits[np.argmin(left[fits].sum(axis=1))]))


class EarliestStart:
    """Each request in the first round in which it fits."""

    def arrive(self, job, state):
        state.start(job)


POLICIES = {
    "preemptive": EarliestFinish,
    "batch": NearestServer,
    "batch_completion": NearestServer,
    "okita": OneWorkerAtATime,
    "aerialedge": BestFit,
    "llm_inference": EarliestStart,
}
