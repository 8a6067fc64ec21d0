"""Results as JSON, without the slow imports of tables."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """What JSON can say: no arrays, no enumerations, null for what is no finite number."""
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(entry) for entry in value]
    return value
