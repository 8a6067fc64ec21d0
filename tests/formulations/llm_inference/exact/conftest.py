"""Makes the cases of this folder's parent importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
