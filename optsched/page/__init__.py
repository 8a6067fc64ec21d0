"""A study as one self-contained HTML file: it opens anywhere, without a network."""

from optsched.page.document import Section, page
from optsched.page.examples import Example, worst_run

__all__ = ["Example", "Section", "page", "worst_run"]
