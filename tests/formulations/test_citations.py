"""Papers are cited whole, and alike by problems and by CITATION.cff."""

from __future__ import annotations

from pathlib import Path

import pytest

from optsched.problem import problem

yaml = pytest.importorskip("yaml")

CITED = Path(__file__).parents[2] / "CITATION.cff"
PAPERS = {
    "preemptive": "Preemptive Scheduling for Distributed Machine Learning Jobs in Edge-Cloud "
    "Networks",
    "batch": "Online Scheduling of Machine Learning Jobs in Edge-Cloud Networks",
    "okita": "Online Scheduling Unbiased Distributed Learning over Wireless Edge Networks",
    "drp": "Joint Data Collection and Resource Allocation for Distributed Machine Learning at the "
    "Edge",
    "aerialedge": "Air-to-Air Collaborative Learning: A Multi-Task Orchestration in Federated "
    "Aerial Computing",
}


@pytest.mark.parametrize("name", PAPERS)
def test_a_problem_cites_its_paper_as_the_citation_file_does(name):
    references = {one["title"]: one for one in yaml.safe_load(CITED.read_text())["references"]}
    cited, source = references[PAPERS[name]], problem(name).source
    authors = ", ".join(
        f"{one['given-names'][0]}. {one['family-names']}" for one in cited["authors"]
    )
    assert source.startswith(f"{authors}: {PAPERS[name]}")
    assert all(str(cited.get(field, "")) in source for field in ("year", "doi", "start", "end"))
    assert cited.get("journal", cited.get("collection-title", "")) in source


def test_the_software_says_how_it_wants_to_be_cited():
    cited = yaml.safe_load(CITED.read_text())
    assert cited["preferred-citation"]["title"] == cited["title"]
    assert cited["preferred-citation"]["version"] == cited["version"]
    assert len(cited["references"]) == len(PAPERS)
