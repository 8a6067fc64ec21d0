"""The page that shows how a problem is added shows the files as they are, and all of them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "sixth_problem.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r'^```python title="([^"]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL))


def test_the_page_shows_every_file_of_the_problem_as_it_is():
    folders = (ROOT / "formulations" / "llm_inference", ROOT / "heuristics" / "llm_inference")
    files = {p.relative_to(ROOT).as_posix(): p for f in folders for p in f.rglob("*.py")}
    assert {name: file.read_text(encoding="utf-8") for name, file in files.items()} == SHOWN


def test_the_page_shows_the_entry_points():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = re.findall(r'^llm_inference = ".*"$', PAGE, re.MULTILINE)
    assert len(lines) == 2
    assert all(line in project for line in lines)
