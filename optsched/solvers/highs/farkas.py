"""Farkas certificates by HiGHS: the rows that make a linear relaxation infeasible."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from optsched.model.matrix_form import MatrixForm
from optsched.solvers.highs.backend import load
from optsched.solvers.options import Options

_WEIGHT = 1e-9  # smaller weights, relative to the largest, are taken for rounding


def farkas_rows(compiled: MatrixForm, seconds: float) -> NDArray[np.bool_] | None:
    """Rows whose weighted sum contradicts the bounds (Farkas), shape (rows,).

    None if the linear relaxation is not shown infeasible in the time given, or HiGHS gives no
    weights. Weights are rounded numbers: that the rows are infeasible remains to be confirmed.
    """
    import highspy

    relaxed = replace(compiled, integer=np.zeros_like(compiled.integer))
    limit = max(seconds, 1e-3) if math.isfinite(seconds) else None
    engine = load(relaxed, Options(time_limit=limit, extra={"presolve": "off"}))
    engine.run()
    if engine.getModelStatus() != highspy.HighsModelStatus.kInfeasible:
        return None
    _, found, weights = engine.getDualRay()
    weights = np.abs(np.asarray(weights))
    if not found or len(weights) != compiled.rows.count or not weights.max(initial=0.0) > 0:
        return None
    rows: NDArray[np.bool_] = weights > _WEIGHT * weights.max()
    return rows
