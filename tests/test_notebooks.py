"""Every notebook runs from top to bottom, and is kept without outputs."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from optsched.problem import problem

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
PAPERS = ("aerialedge", "batch", "drp", "okita", "preemptive")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    assert any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize(
    "path", [path for path in NOTEBOOKS if path.stem in PAPERS], ids=lambda path: path.stem
)
def test_a_papers_notebook_is_short_and_names_blocks_by_the_papers_numbers(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert len(cells) <= 15
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    named = set(re.findall(r'"(\d+[a-z]?)(?:: [^"]*)?"', code))
    assert len(named) >= 2
    for number in named:
        assert problem(path.stem).equation(number).number == number


def test_the_notebook_of_llm_inference_is_short_and_states_the_blocks_of_the_program() -> None:
    (path,) = (path for path in NOTEBOOKS if path.stem == "llm_inference")
    cells = nbformat.read(path, as_version=4).cells
    assert len(cells) <= 15
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    llm = problem("llm_inference")
    model = llm.formulations["hindsight"].build(llm.generate(np.random.default_rng(0), requests=2))
    assert set(re.findall(r'model.add\("(\w+)"', code)) == set(model.blocks)
