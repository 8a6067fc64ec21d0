"""Trees over sets of servers, prices and limits for them, and what a server may bear, listed."""

import itertools

import numpy as np

from formulations.drp.exact.node_placement import place_nodes
from formulations.drp.exact.service_columns import ServiceColumns
from formulations.drp.exact.set_tree.configurations import SAFE
from formulations.drp.exact.set_tree.nodes import Limits
from formulations.drp.exact.set_tree.tree import set_tree
from formulations.drp.loads import server_load_factor
from formulations.drp.problem_p3_p5 import ANGLES
from optsched.decomposition import GenerationOptions
from optsched.solvers.options import Options

OWN = {"jobs": 4, "servers": 3, "most_nodes": 3, "storage": True}
"""Of ``instances``: a separate service for every job."""


def always():
    return True


def tree_for(instance, target, prices=None, place=None, threads=1):
    """The tree at prices of the relaxation over whole services, or at others."""
    columns = ServiceColumns(instance, ANGLES)
    if prices is None:
        prices = columns.solve(GenerationOptions()).prices

    def placing(sets, chosen):
        return place_nodes(instance, sets, chosen, Options())

    return set_tree(instance, columns, prices, target, place or placing, threads)


def drawn_prices(instance, seed):
    """Prices of rows, of the sign that a relaxation returns."""
    columns = ServiceColumns(instance, ANGLES)
    rows = len(columns.storage.server) + columns.weights.shape[0] * instance.num_servers
    rng = np.random.default_rng(seed)
    return -rng.uniform(0, 0.6, rows) * (rng.random(rows) < 0.5)


def drawn_limits(rng, counts):
    """Of some counts, in any order."""
    number = rng.permutation(len(counts.most))[: rng.integers(1, 6)]
    least = rng.integers(0, 3, len(number)) * (rng.random(len(number)) < 0.6)
    return Limits(
        number, least, np.minimum(least + rng.integers(0, 3, len(number)), counts.most[number])
    )


def configurations(first, size, load):
    """All of them, as rows of 0 and 1."""
    options = [[None, *range(a, b)] for a, b in itertools.pairwise(first.tolist())]
    found = []
    for choice in itertools.product(*options):
        held = [i for i in choice if i is not None]
        inbound, *rest = load[held].sum(axis=0)
        full = max(size[held].sum(), inbound, server_load_factor(*rest))
        if full <= 1 + SAFE:
            found.append(np.isin(np.arange(len(size)), held).astype(float))
    return np.array(found)
