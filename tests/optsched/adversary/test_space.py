"""What generated files tell about the numbers of an instance."""

import numpy as np
import pytest

from optsched.adversary.pool import Pool
from optsched.adversary.space import LIKE, Space, at, leaves
from optsched.errors import InputError
from optsched.instances.document import parse
from optsched.problem import problem

OPTIONS = {
    "preemptive": {"jobs": 4, "servers": 3, "types": 2, "time_scale": 0.05},
    "batch": {"jobs": 3, "servers": 3, "types": 2, "time_scale": 0.05},
    "okita": {"jobs": 3, "sites": 3, "horizon": 10},
    "drp": {"jobs": 2, "nodes_per_job": 2},
    "aerialedge": {"kind": "hard", "tasks": 8},
}


@pytest.fixture(scope="module", params=OPTIONS)
def space(request):
    """The space of each paper's instances."""
    return Space(problem(request.param), OPTIONS[request.param])


def test_generated_instances_lie_within_their_own_ranges(space):
    assert not any(space.outside(document) for document in space.documents)


def test_mutations_stay_within_the_ranges_of_generated_instances(space):
    rng = np.random.default_rng(0)
    document = space.documents[0]
    for _ in range(40):
        document = space.mutate(document, rng)
        assert not space.outside(document)


def test_a_neighbour_is_another_instance_and_seldom_differs_in_what_a_long_list_repeats():
    space = Space(problem("preemptive"), OPTIONS["preemptive"])
    document, rng = space.documents[0], np.random.default_rng(5)
    changed = [space.mutate(document, rng) for _ in range(60)]
    assert document not in changed
    with_jobs = [other for other in changed if other["jobs"] != document["jobs"]]
    assert len(with_jobs) > len(changed) / 2


def test_most_mutations_of_an_instance_are_instances(space):
    rng = np.random.default_rng(1)
    accepted = 0
    for document in space.documents[:40]:
        try:
            parse(space.problem.instance_type, space.mutate(document, rng))
            accepted += 1
        except InputError:
            continue
    assert accepted >= 30


def test_a_copied_entry_without_numbers_that_vary_stays_a_copy():
    space = Space(problem("preemptive"), {"jobs": 2, "servers": 1, "types": 1})
    rng = np.random.default_rng(5)
    document = space.documents[0]
    for _ in range(200):  # among them copies of workers, all of one type on one server
        document = space.mutate(document, rng)
    assert not space.outside(document)


def test_what_never_varies_is_structure(space):
    names = {key[-1] for key in space.varying(space.documents[0])}
    assert names.isdisjoint({"format", "version", "kind"})


def test_a_job_less_is_an_instance_with_a_job_less():
    space = Space(problem("preemptive"), OPTIONS["preemptive"])
    document = space.documents[0]
    smaller = parse(space.problem.instance_type, space.entries.without(document, "jobs", 1))
    assert smaller.jobs == len(document["jobs"]) - 1


def test_a_server_less_takes_its_workers_along_and_renumbers_the_others():
    space = Space(problem("preemptive"), OPTIONS["preemptive"])
    document = space.documents[0]
    smaller = parse(space.problem.instance_type, space.entries.without(document, "edge_servers", 0))
    kept = [w["server"] for w in document["workers"] if w["server"] != 0]
    assert smaller.edge_servers == len(document["edge_servers"]) - 1
    assert smaller.worker_server.tolist() == [server - 1 for server in kept]
    assert smaller.upload_delay_edge.shape[1] == smaller.edge_servers


def test_a_delay_belongs_to_its_server_and_a_duration_to_any_job():
    space = Space(problem("preemptive"), OPTIONS["preemptive"])
    assert space.key(("jobs", 2, "upload_delay_edge", 1)) == ("jobs", LIKE, "upload_delay_edge", 1)
    assert space.key(("jobs", 2, "num_chunks")) == ("jobs", LIKE, "num_chunks")


def test_changing_a_document_leaves_the_one_before_as_it_was():
    space = Space(problem("batch"), OPTIONS["batch"])
    document = space.documents[0]
    before = list(leaves(document))
    rng = np.random.default_rng(2)
    for _ in range(60):
        space.mutate(document, rng)
    assert list(leaves(document)) == before


def test_numbers_are_whole_where_all_seen_are():
    pool = Pool((1.0, 4.0, 7.0))
    rng = np.random.default_rng(3)
    drawn = {pool.draw(rng) for _ in range(50)} | {pool.nudge(4.0, rng) for _ in range(50)}
    assert drawn <= {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0}
    assert pool.admits(2.0)
    assert not pool.admits(2.5)
    assert not pool.admits(7.0000001)


def test_entries_that_hold_lists_of_other_lengths_are_alike():
    space = Space(problem("aerialedge"), OPTIONS["aerialedge"])
    assert space.lists == ["jobs"]  # always as many, of more tasks or fewer
    assert space.key(("jobs", 1, "tasks", 0, "exec_time_s"))[1] == LIKE


def test_fields_that_made_no_difference_are_seldom_changed():
    space = Space(problem("preemptive"), OPTIONS["preemptive"])
    document, rng = space.documents[0], np.random.default_rng(6)
    fields = {tuple(LIKE if isinstance(p, int) else p for p in key)
              for key in space.varying(document)}  # fmt: skip
    dull = dict.fromkeys(fields - {("jobs", LIKE, "release_time")}, 10**9)
    changed = [space.changed(document, space.mutate(document, rng, dull)) for _ in range(30)]
    # entries that are copied or taken from another file bring their other fields along
    assert changed.count({("jobs", LIKE, "release_time")}) > 15


def test_words_are_only_those_seen():
    pool = Pool(("first", "second"))
    rng = np.random.default_rng(4)
    assert {pool.nudge("first", rng) for _ in range(20)} == {"first", "second"}
    assert not pool.admits("third")


def test_a_fraction_is_a_number():
    pool = Pool(("1/3", "2/3", "5"))
    assert pool.numeric
    assert pool.admits("1/2")
    assert at({"a": [1, {"b": 2}]}, ("a", 1, "b")) == 2


def test_a_job_may_come_several_times_at_once():
    space = Space(problem("preemptive"), OPTIONS["preemptive"])
    document, rng = space.documents[1], np.random.default_rng(7)  # of a single job
    assert len(document["jobs"]) == 1
    found = [space.mutate(document, rng)["jobs"] for _ in range(200)]
    assert any(len(jobs) == 3 and jobs[0] == jobs[1] == jobs[2] for jobs in found)


def test_later_jobs_may_move_together():
    space = Space(problem("preemptive"), OPTIONS["preemptive"])
    document, rng = space.documents[0], np.random.default_rng(8)
    release = np.array([job["release_time"] for job in document["jobs"]])
    moved = [space.mutate(document, rng)["jobs"] for _ in range(400)]
    shifts = [
        np.array([job["release_time"] for job in jobs]) - release
        for jobs in moved
        if len(jobs) == len(release)
    ]
    assert any(len(set(shift[shift != 0])) == 1 and sum(shift != 0) > 1 for shift in shifts)
