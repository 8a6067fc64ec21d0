"""What numpy's functions are of expressions: entries in another order, sums, extrema, logic.

Whatever is linear gives an expression; extrema, absolute values and logic give new variable blocks
that equal them, as ``Model.maximum``, ``minimum`` and ``absolute`` do. What is not here is refused
in a sentence.
"""

from optsched.model.numpy_functions import (  # noqa: F401  # fill numpy's tables
    entrywise,
    orders,
    products,
    sums,
)
