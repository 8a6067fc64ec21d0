"""The exact models: one package per paper, one module per numbered problem."""

from pathlib import Path

STUDIES = Path(__file__).resolve().parent.parent / "studies"
"""The papers' own studies, a file each; an installed package has them beside it too."""
