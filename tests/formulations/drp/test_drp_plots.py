"""The map shows what was decided."""

import numpy as np
import pytest
from drp_cases import worked_drp
from matplotlib.figure import Figure

from formulations.drp.decode import schedule_of
from formulations.drp.generator import generate
from formulations.drp.loads import pairs_of, server_loads
from formulations.drp.plots import draw_map, fullness
from optsched.errors import InputError


@pytest.mark.parametrize("topology", ["hexagon", "grid"])
def test_a_map_joins_every_associated_node_with_its_server(topology, tmp_path):
    instance = generate(np.random.default_rng(0), jobs=3, topology=topology)
    assoc = instance.pair_server[instance.first_pair[:-1]]
    assoc[instance.node_job == 2] = -1
    schedule = schedule_of(instance, assoc)
    figure = Figure()
    ax = draw_map(figure.subplots(), instance, schedule)
    lines = next(c for c in ax.collections if type(c).__name__ == "LineCollection")
    assert len(lines.get_segments()) == 30
    assert len(ax.texts) == 19
    assert ax.get_title() == "3 jobs, 2 admitted"
    figure.savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 5000


def test_fullness_is_the_larger_of_inbound_load_and_load_factor():
    instance = worked_drp()
    assoc = np.array([0, 1, 0, 1])
    full = fullness(instance, assoc)
    assert full == pytest.approx(server_loads(instance, pairs_of(instance, assoc)).factor)
    assert full == pytest.approx([0.839089, 0.839089], abs=1e-6)


def test_an_instance_without_positions_has_no_map():
    with pytest.raises(InputError, match="node_xy"):
        draw_map(Figure().subplots(), worked_drp())
