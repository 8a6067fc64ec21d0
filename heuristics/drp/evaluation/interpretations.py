"""What the DRP/DSRP paper leaves open, where its claims may hang on it."""

from heuristics.common.claims import STATED as OF
from heuristics.common.claims import Interpretation

SHARE = Interpretation(
    "comm_share",
    (0.5, 0.1, 0.08),
    "(8) to (13) fix the share of the deadline left to communication, and Section 5.1 gives no "
    "value of epsilon",
)
PROFILE = Interpretation(
    "profile",
    ("balanced", "bandwidth_bound"),
    "Section 5.1 prints servers of 150 GFLOP/s and not the work per mini-batch: inbound bandwidth "
    "and compute both scarce, or bandwidth alone",
    judged=True,
)
SERVICES = Interpretation(
    "services",
    ("jobs", "networks"),
    "Section 4 places services that jobs may share, Section 5.1 gives their sizes and not how many "
    "there are: one for each job, or one for each of the neural networks that jobs train",
)
NEAREST = Interpretation(
    "nearest",
    ("in turn", "literal"),
    "Section 5.2: jobs placed one after the other, or all at once at the nearest servers, from "
    "which jobs go while anything is violated",
    judged=True,
)
DATA = Interpretation(
    "data",
    ("all", "uniform"),
    "Section 5.4 prints one number for three figures: over all distributions of data, or uniform",
    judged=True,
)
LOAD = Interpretation(
    "load",
    (0.9, 0.5),
    "Section 6.1 gives the test-bed's jobs no deadlines: such that four servers have to be busy "
    "for nine tenths of them, or for half",
)
RADIO = Interpretation(
    "radio",
    ("fading", "strongest"),
    "Section 6.2 decides nearest by signal strength, Table 2 has one value a server: around it, or "
    "at it, and then everything goes to Edge 0",
    judged=True,
)
COMPLETION = Interpretation(
    "completion",
    ("last job", "mean job"),
    'Section 6.2, "for each job request": until the last job is done, or each in the mean',
    judged=True,
)
STATED = Interpretation(
    "stated",
    OF,
    'Section 5.3: "at least 92 %", "at most 11 %": on every instance, or in the mean that the '
    "figures draw",
    judged=True,
)
