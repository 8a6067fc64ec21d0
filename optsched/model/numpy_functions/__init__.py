"""numpy's functions of expressions: reordering, sums, extrema, logic.

Linear functions return an expression. Extrema, absolute values and logic return new variable
blocks, as ``Model.maximum``, ``minimum`` and ``absolute`` do. Any other function is refused with a
message.
"""

from optsched.model.numpy_functions import (  # noqa: F401  # fill numpy's tables
    entrywise,
    orders,
    products,
    sums,
)
