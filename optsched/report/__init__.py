"""The report of a study as one HTML file that needs no network, and plots."""

from optsched.report.document import Example, Section, page

__all__ = ["Example", "Section", "page"]
