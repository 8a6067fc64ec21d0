"""A back end as a third party writes it: branch and bound by hand over scipy's linear programs.

What announces it is ``tree_search-1.0.dist-info/entry_points.txt``.
"""

import time

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from optsched.solvers.backend import MIXED_INTEGER, Backend, Feature, SolverResult
from optsched.solvers.numbers import contradiction, refuse_numbers, refuse_options
from optsched.solvers.solution import Limit, Status


class TreeSearch(Backend):
    """Depth first, best child first: for small models."""

    name = "tree-search"
    features = MIXED_INTEGER | {Feature.STOP}
    native = frozenset()

    def version(self):
        return "1.0"

    def solve(self, compiled, options, start):
        refuse_options(self.name, options, threads=False, seed=False, stop=True)
        refuse_numbers(self.name, compiled, smallest=1e-9, largest=1e15, infinite=1e20)
        sign = -1.0 if compiled.maximise else 1.0
        search = _Search(compiled, sign * compiled.cost, options)
        if contradiction(compiled) is not None:
            return SolverResult(Status.INFEASIBLE)
        outcome = search.run()
        if outcome is Status.UNBOUNDED:  # of the relaxation: whether there is a point at all
            found = _Search(compiled, 0.0 * compiled.cost, options).run()
            return SolverResult(Status.INFEASIBLE if found is Status.INFEASIBLE else outcome)
        if outcome is Status.INFEASIBLE:
            return SolverResult(outcome)
        bound = None if np.isinf(search.bound) else sign * search.bound + compiled.offset
        if outcome is Status.OPTIMAL:
            return SolverResult(outcome, search.x, bound, nodes=search.nodes)
        if outcome is Status.FEASIBLE:
            return SolverResult(outcome, search.x, bound, Limit.GAP)
        if outcome is Status.INTERRUPTED:
            return SolverResult(outcome, search.x, bound)
        word = Status.NO_SOLUTION if search.x is None else Status.FEASIBLE
        return SolverResult(word, search.x, bound, Limit.TIME)


class _Search:
    def __init__(self, compiled, cost, options):
        self.compiled, self.cost, self.options = compiled, cost, options
        rows = compiled.rows
        above, below = np.isfinite(rows.upper), np.isfinite(rows.lower)
        self.matrix = sp.csr_array(sp.vstack([rows.matrix[above], -rows.matrix[below]]))
        self.side = np.concatenate([rows.upper[above], -rows.lower[below]])
        self.until = time.perf_counter() + (options.time_limit or np.inf)
        self.x, self.value, self.bound, self.nodes = None, np.inf, -np.inf, 0

    def relaxation(self, lower, upper):
        left = self.until - time.perf_counter()
        limit = {} if np.isinf(left) else {"time_limit": max(left, 1e-3)}
        bounds = np.column_stack([lower, upper])
        return linprog(
            self.cost, self.matrix, self.side, bounds=bounds, options={"presolve": False, **limit}
        )

    def run(self):
        """How it ended; OPTIMAL with the best point, None where there is none."""
        whole = self.compiled.integer
        lower = np.where(whole, np.ceil(self.compiled.lower), self.compiled.lower)
        upper = np.where(whole, np.floor(self.compiled.upper), self.compiled.upper)
        open_nodes = [(-np.inf, lower, upper)]
        while open_nodes:
            self.bound = min(self.value, *(node[0] for node in open_nodes))
            if self.options.stop is not None and self.options.stop.is_set():
                return Status.INTERRUPTED
            if time.perf_counter() >= self.until:
                return Limit.TIME
            gap = max(self.options.absolute_gap, self.options.gap * abs(self.value))
            if gap and self.value - self.bound <= gap:
                return Status.FEASIBLE
            known, lower, upper = open_nodes.pop()
            if known >= self.value - 1e-9 * max(1.0, abs(self.value)) or (lower > upper).any():
                continue
            self.nodes += 1
            answer = self.relaxation(lower, upper)
            if answer.status == 3:
                return Status.UNBOUNDED
            if answer.status == 1:
                open_nodes.append((known, lower, upper))
                return Limit.TIME
            if answer.status == 2:
                continue
            if answer.status != 0:
                raise RuntimeError(answer.message)
            self.branch(open_nodes, answer, lower, upper)
        self.bound = self.value
        return Status.OPTIMAL if self.x is not None else Status.INFEASIBLE

    def branch(self, open_nodes, answer, lower, upper):
        away = np.abs(answer.x - np.round(answer.x)) * self.compiled.integer
        if away.max(initial=0.0) <= 1e-6:
            if answer.fun < self.value:
                self.x, self.value = answer.x, answer.fun
            return
        narrow = np.minimum(upper - lower, 1e9) - away  # the choices that decide most
        j = int(np.argmin(np.where(away > 1e-6, narrow, np.inf)))
        most, least = upper.copy(), lower.copy()
        most[j], least[j] = np.floor(answer.x[j]), np.ceil(answer.x[j])
        children = [(answer.fun, lower, most), (answer.fun, least, upper)]
        nearer_up = answer.x[j] - most[j] > 0.5
        open_nodes += children if nearer_up else children[::-1]
