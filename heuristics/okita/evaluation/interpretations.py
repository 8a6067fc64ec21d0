"""What Okita's paper leaves open, where its claims may hang on it."""

from heuristics.common.claims import STATED as OF
from heuristics.common.claims import Interpretation

SITES = Interpretation(
    "site_kinds",
    ("mix", "largest"),
    "Section V-B: resources as those of Amazon's P3, P2 and G3, not which sizes: a mix of all, or "
    "the largest of each family",
)
FIFO = Interpretation(
    "fifo",
    ("uniform", "middle"),
    "Section V-A: FIFO with a random fixed number of workers, without a law: any up to half of "
    "what is free, or one of the middle half of these",
    judged=True,
)
OASIS = Interpretation(
    "oasis",
    (1, 100),
    "Section V-A runs OASiS without its prices' constants: the least price L, with U = 1000 L",
    judged=True,
)
LATENCY = Interpretation(
    "latency",
    ("exponential", "linear", "piecewise"),
    "Section V: three latency functions, and no word on the one behind the sentence; the default "
    "is the figures', the sigmoid",
    judged=True,
)
SPREAD = Interpretation(
    "spread",
    ("even", "by class"),
    "Section V-A lists data sets and not how they lie at the sites: every class everywhere, or one "
    "or two classes a site, for which unbiased models are wanted",
    judged=True,
)
STATED = Interpretation(
    "stated",
    OF,
    "Section V on Figure 7: the ratio stays below 1.8: on every instance, or the mean that the "
    "figure draws",
    judged=True,
)
