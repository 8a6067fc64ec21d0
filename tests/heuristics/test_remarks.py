"""Remarks explain claims that exist, in a line."""

from __future__ import annotations

from importlib import import_module

import pytest

PAPERS = ("aerialedge", "batch", "drp", "okita", "preemptive")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_remark_belongs_to_a_claim_and_stands_beside_it(paper):
    room = f"heuristics.{paper}.evaluation"
    remarks = import_module(f"{room}.remarks").REMARKS
    claims = {one.name: one for one in import_module(f"{room}.claims").CLAIMS}
    assert not set(remarks) - set(claims)
    assert all(claims[name].remark == text for name, text in remarks.items())
    assert all("\n" not in text and not text.endswith(".") for text in remarks.values())
