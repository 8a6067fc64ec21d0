"""Federated multi-output linear regression, (1) to (3) and (5), corrected.

Every site holds features X_i, shape (n_i, d), and targets Y_i, shape (n_i, 3): cores, GiB, seconds.
The model is a matrix theta, shape (d, 3), that minimises the pooled ridge problem
sum_i (n_i / n) |X_i theta - Y_i|^2 / (2 n_i) + lambda |theta|^2 / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from formulations.aerialedge.instance import Floats
from optsched.errors import FieldProblem, InputError

Method = Literal["rounds", "sufficient_statistics"]
"""rounds: weighted means of local gradient steps; sufficient_statistics: X'X and X'Y are summed and
the problem is solved once, exactly, with no raw data exchanged."""


@dataclass(frozen=True, eq=False)
class Site:
    """The local data of one site."""

    features: Floats
    """X_i, shape (n_i, d)."""
    targets: Floats
    """Y_i, shape (n_i, outputs)."""

    @classmethod
    def of(cls, features: ArrayLike, targets: ArrayLike) -> Site:
        """Local data from array-likes.

        Raises:
            InputError: no rows, rows that do not match, or numbers that are not finite.
        """
        x, y = np.array(features, dtype=np.float64), np.array(targets, dtype=np.float64)
        if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or not len(x):
            raise InputError.of("site", (x.shape, y.shape), "shapes (n, d) and (n, outputs), n > 0")
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise InputError.of("site", "not finite", "finite numbers")
        return cls(x, y)

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model."""

    theta: Floats
    """Shape (d, outputs)."""
    rounds: int
    """Rounds of communication it took."""
    converged: bool


def local_solution(site: Site, ridge: float) -> Floats:
    """theta_i = (X'X / n_i + lambda I)^(-1) X'Y / n_i, of least norm where it is not unique."""
    n = len(site)
    gram = site.features.T @ site.features / n + ridge * np.eye(site.features.shape[1])
    return _solved(gram, site.features.T @ site.targets / n)


def _solved(matrix: Floats, side: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(matrix, side, rcond=None)[0], dtype=np.float64)


def aggregate_models(models: Sequence[ArrayLike], sizes: Sequence[int]) -> Floats:
    """(1), corrected: the mean of the sites' models, weighted by their data.

    The printed sum is too large by a factor of about the number of sites.
    """
    share = np.asarray(sizes, dtype=np.float64) / sum(sizes)
    return np.asarray(np.tensordot(share, np.asarray(models, dtype=np.float64), axes=1))


def fed_fit(
    sites: Sequence[Site],
    *,
    ridge: float = 1e-3,
    method: Method = "sufficient_statistics",
    step: float | None = None,
    rounds: int = 50,
    local_steps: int = 5,
    tolerance: float = 1e-8,
) -> Fit:
    """FED_FIT: (2), corrected.

    Args:
        sites: local data over the same features and targets.
        ridge: lambda >= 0.
        method: see ``Method``. With one local step, rounds are gradient descent on the pooled
            problem; with more they converge to a point near its solution where sites differ.
        step: eta; None: the largest that is safe, 1 / (max_i lambda_max(X'X / n_i) + lambda).
        rounds: at most.
        local_steps: gradient steps of a site per round.
        tolerance: Frobenius norm of a round's change at which to stop.

    Raises:
        InputError: no site, sites of different width, or an option out of range.
    """
    _check(sites, ridge, method, rounds, local_steps)
    width, outputs = sites[0].features.shape[1], sites[0].targets.shape[1]
    sizes = [len(site) for site in sites]
    total = sum(sizes)
    if method == "sufficient_statistics":
        gram = sum((s.features.T @ s.features for s in sites), np.zeros((width, width)))
        cross = sum((s.features.T @ s.targets for s in sites), np.zeros((width, outputs)))
        theta = _solved(gram / total + ridge * np.eye(width), cross / total)
        return Fit(theta, 1, True)
    if step is None:
        steepest = max(
            float(np.linalg.eigvalsh(s.features.T @ s.features / len(s))[-1]) for s in sites
        )
        step = 1.0 / max(steepest + ridge, 1e-12)
    theta = np.zeros((width, outputs))
    for number in range(1, rounds + 1):
        locals_ = [_descend(site, theta, ridge, step, local_steps) for site in sites]
        new = aggregate_models(locals_, sizes)
        change = float(np.linalg.norm(new - theta))
        theta = new
        if change <= tolerance:
            return Fit(theta, number, True)
    return Fit(theta, rounds, False)


def _descend(site: Site, theta: Floats, ridge: float, step: float, times: int) -> Floats:
    local = theta.copy()
    for _ in range(times):
        residual = site.features @ local - site.targets
        local = local - step * (site.features.T @ residual / len(site) + ridge * local)
    return np.asarray(local)


def _check(sites: Sequence[Site], ridge: float, method: str, rounds: int, local_steps: int) -> None:
    problems = []
    if not sites:
        problems.append(FieldProblem("sites", [], "at least one"))
    shapes = {(s.features.shape[1], s.targets.shape[1]) for s in sites}
    if len(shapes) > 1:
        allowed = "the same features and targets at every site"
        problems.append(FieldProblem("sites", sorted(shapes), allowed))
    if not ridge >= 0:
        problems.append(FieldProblem("ridge", ridge, "a number >= 0"))
    if method not in get_args(Method):
        allowed = "must be one of " + ", ".join(get_args(Method))
        problems.append(FieldProblem("method", method, allowed))
    for name, value in (("rounds", rounds), ("local_steps", local_steps)):
        if value < 1:
            problems.append(FieldProblem(name, value, "an integer >= 1"))
    if problems:
        raise InputError(problems)
