"""Makes the cases of the formulations importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "formulations" / "llm_inference"))
