"""The page of printed errors says what comes out."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "as_printed.md"


def test_every_example_of_the_page_comes_out_as_it_says():
    found = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 30
    assert found.failed == 0
