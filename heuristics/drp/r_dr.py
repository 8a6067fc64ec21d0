"""R-DR (Algorithm 1): relax, round at random, admit what fits, repeat.

Beyond the paper: a global order of jobs, a full test of resources at admission, associations of
jobs not admitted released, and a safeguard that admits or rejects one job whenever rounding
admits none, without which Proposition 1 (at most as many rounds as jobs) does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from formulations.drp.decode import schedule_of
from formulations.drp.instance import NO_SERVER, Booleans, Floats, Instance, Integers
from formulations.drp.lp1_lp2 import fixed_share
from formulations.drp.problem_p3_p5 import soc_relaxation
from formulations.drp.prune import Prune
from formulations.drp.prune import prune as prune_pairs
from formulations.drp.residual_capacity import Mode, Room
from formulations.drp.schedule import Schedule
from heuristics.drp.options import checked_share, require
from heuristics.drp.rounding import NO_PAIR, draw_pairs, keep_prefix
from optsched.errors import ModelError
from optsched.problem.calls import Share
from optsched.solve import solve
from optsched.solvers.solution import Solution

ROUNDS_PER_JOB = 100
"""Rounds per job after which R-DR without its safeguard gives up."""
ROUGH = 1e-2
"""Excess of load factors that mode "exact" leaves in its relaxation: what is rounded from it is
tested exactly anyway."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AdmissionRun(Schedule):
    """The decision of R-DR, with what it went through."""

    order: Integers
    """Jobs in the order of admission, shape (admitted,)."""
    relaxations: Floats
    """Value of the relaxation of each round, shape (rounds,), jobs."""
    admissions: Integers
    """Jobs that rounding admitted in each round, before the safeguard, shape (rounds,)."""

    @property
    def rounds(self) -> int:
        """Relaxations solved."""
        return len(self.relaxations)

    @property
    def lp1_first(self) -> float:
        """Value of the first relaxation, after PRUNE: what the paper calls optimal (in mode "eps").

        It is no bound on the optimum: a fixed epsilon and PRUNE both cut off solutions.
        """
        return float(self.relaxations[0]) if self.rounds else 0.0


@dataclass
class _State:
    """What has been decided so far."""

    room: Room
    allowed: Booleans
    """Pairs of the jobs that are left, shape (pairs,)."""
    pairs: list[Integers] = field(default_factory=list)
    """Pairs of each admitted job."""
    order: list[int] = field(default_factory=list)


def r_dr(
    instance: Instance,
    rng: np.random.Generator,
    *,
    mode: Mode = "eps",
    prune: Prune = "paper",
    comm_share: Share | None = None,
    safeguard: bool = True,
    printed: bool = False,
) -> AdmissionRun:
    """Run R-DR.

    Args:
        instance: the system.
        rng: one uniform number per remaining node and round, and per node of a redrawn job.
        mode: "eps", the paper's LP1; "exact", the second-order-cone relaxation and test.
        prune: "paper", or "safe", which never rejects a feasible job for what PRUNE removes.
        comm_share: epsilon of mode "eps"; None: the instance's.
        safeguard: redraw the first job where rounding admits none. Without it such a round is
            simply repeated.
        printed: admit as lines 15 to 18 do, by inbound bandwidth alone and without the safeguard:
            compute and outbound bandwidth are in general exceeded, which the checker says. The
            run ends where LP1 has no point any more.

    Raises:
        InputError: an option out of range.
        ModelError: a relaxation fails.
    """
    share = checked_share(instance, mode, comm_share)
    require("prune", prune, ("paper", "safe"))
    rounds = _Rounds(instance, rng, mode, prune, share, safeguard and not printed, printed)
    rounds.run()
    state = rounds.state
    assoc = np.full(instance.num_data_nodes, NO_SERVER)
    if state.pairs:
        pairs = np.concatenate(state.pairs)
        assoc[instance.pair_node[pairs]] = instance.pair_server[pairs]
    made = schedule_of(instance, assoc, mode=mode, comm_share=share)
    return AdmissionRun(
        **{f.name: getattr(made, f.name) for f in fields(Schedule)},
        order=np.array(state.order, dtype=np.int64),
        relaxations=np.array(rounds.relaxations),
        admissions=np.array(rounds.admissions, dtype=np.int64),
    )


class _Rounds:
    """The loop of Algorithm 1."""

    def __init__(
        self,
        instance: Instance,
        rng: np.random.Generator,
        mode: Mode,
        variant: Prune,
        share: float,
        safeguard: bool,
        printed: bool,
    ) -> None:
        self.instance, self.rng = instance, rng
        self.mode, self.variant, self.share, self.safeguard = mode, variant, share, safeguard
        self.printed = printed
        self.state = _State(Room.empty(instance), np.ones(instance.num_pairs, dtype=bool))
        self.relaxations: list[float] = []
        self.admissions: list[int] = []

    def run(self) -> None:
        """Go on until no job is left."""
        limit = ROUNDS_PER_JOB * self.instance.num_jobs
        while len(self.relaxations) < limit:
            state = self.state
            state.allowed, alive = prune_pairs(
                self.instance,
                state.room,
                state.allowed,
                variant=self.variant,
                mode=self.mode,
                comm_share=self.share,
            )
            if not alive.any():
                return
            self._round(np.flatnonzero(alive))

    def _round(self, jobs: Integers) -> None:
        instance, state = self.instance, self.state
        relaxed = self._relax()
        if not relaxed.has_point:  # as printed, a server may hold more than it has
            self.state.allowed[:] = False
            return
        x, y = relaxed["x"], relaxed["y"]
        self.relaxations.append(float(y.sum()))
        order = jobs[np.lexsort((jobs, -np.round(y[jobs], 9)))]
        rank = np.zeros(instance.num_jobs, dtype=np.int64)
        rank[order] = np.arange(len(order))
        nodes = np.flatnonzero(np.isin(instance.node_job, jobs))
        drawn = draw_pairs(instance, nodes, x, self.rng)
        kept = keep_prefix(instance, drawn[drawn != NO_PAIR], rank, 1 - state.room.inbound)
        count = np.bincount(instance.pair_job[kept], minlength=instance.num_jobs)
        admitted = 0
        for job in order.tolist():
            if count[job] == len(instance.job_nodes[job]):
                admitted += self._admit(job, kept[instance.pair_job[kept] == job])
        self.admissions.append(admitted)
        if not admitted and self.safeguard:
            self._redraw(int(order[0]), x, float(y[order[0]]))

    def _relax(self) -> Solution:
        state = self.state
        if self.mode == "eps":
            model = fixed_share(
                self.instance, comm_share=self.share, allowed=state.allowed, room=state.room
            )
            solution = solve(model.relax(), "highs")
        else:
            solution = soc_relaxation(
                self.instance, tolerance=ROUGH, allowed=state.allowed, room=state.room
            )
        if not solution.has_point and not self.printed:
            raise ModelError(f"the relaxation ended {solution.status}: {solution.message}")
        return solution

    def _admit(self, job: int, pairs: Integers) -> bool:
        """Commit a job's association if it fits."""
        state = self.state
        room = state.room.with_pairs(self.instance, pairs)
        fits = room.inbound <= 1 + 1e-12 if self.printed else room.fits(self.mode, self.share)
        if not fits.all():
            return False
        state.room = room
        state.pairs.append(pairs)
        state.order.append(job)
        self._remove(job)
        return True

    def _remove(self, job: int) -> None:
        self.state.allowed[self.instance.job_pairs[job]] = False

    def _redraw(self, job: int, x: Floats, y: float) -> None:
        """Safeguard: draw a whole association of one job; reject it for good if it does not fit."""
        if y > 0:
            nodes = self.instance.job_nodes[job]
            pairs = draw_pairs(self.instance, nodes, self._conditional(job, x), self.rng)
            if (pairs != NO_PAIR).all() and self._admit(job, pairs):
                return
        self._remove(job)

    def _conditional(self, job: int, x: Floats) -> Floats:
        """x_ij / y_k for the pairs of one job, made to sum to 1 at every node."""
        instance = self.instance
        pairs = instance.job_pairs[job]
        given = np.zeros(instance.num_pairs)
        given[pairs] = np.where(self.state.allowed[pairs], np.maximum(x[pairs], 0.0), 0.0)
        total = np.bincount(instance.pair_node, weights=given, minlength=instance.num_data_nodes)[
            instance.pair_node[pairs]
        ]
        given[pairs] /= np.where(total > 0, total, 1.0)
        # so that no number below 1 falls beyond the sum
        given[pairs] *= 1 + 1e-9
        return given
