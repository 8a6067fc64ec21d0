"""Makes the instances of the formulations' tests and the literal algorithms importable."""

import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE.parents[1] / "formulations" / "okita")]
