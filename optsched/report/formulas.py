"""Formulas as MathML, which browsers show by themselves."""

from __future__ import annotations

import re
from html import unescape


def mathml(fragment: str) -> str:
    """HTML with its ``$...$`` turned from LaTeX into MathML.

    Args:
        fragment: as from a model's view for notebooks.
    """
    from latex2mathml.converter import convert

    return re.sub(
        r"\$(.+?)\$", lambda found: str(convert(unescape(found[1]))), fragment, flags=re.DOTALL
    )
