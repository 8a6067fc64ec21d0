"""A study as one self-contained HTML file: it opens anywhere, without a network."""

from optsched.report.document import Example, Section, page

__all__ = ["Example", "Section", "page"]
