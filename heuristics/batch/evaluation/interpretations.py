"""What the batch paper leaves open, where its claims may hang on it."""

from heuristics.common.claims import Interpretation

CLOUD = Interpretation(
    "cloud",
    ("unlimited", 200, 500),
    "Section VI lists the edge servers' workers and never the cloud's: without limit, or so many "
    "of each type",
)
FIFO = Interpretation(
    "fifo",
    ("start", "completion"),
    'Section VI: "dispatched to the server that can schedule the job earliest": the job\'s start '
    "there, or its completion",
    judged=True,
)
RIVALS = Interpretation(
    "rivals",
    ("the paper's", "and ALL-CLOUD"),
    "Section VI compares with FIFO, DRF and BatchSche; sending every job to the cloud is not there",
    judged=True,
)
WIDTH = Interpretation(
    "width",
    ("server", "spread"),
    'Section VI: jobs "preempt some workers of other jobs": those of one server, or of several',
    judged=True,
)
ROUNDS = Interpretation(
    "rounds",
    ("printed", "any start"),
    "Algorithm 2 loops over completion slots that Algorithms 3 and 4 compute anew, and line 3 is "
    "stricter than (2i): jobs begin with the window, or at any start that (2) allows",
    judged=True,
)
WINDOW = Interpretation(
    "window",
    ("A_online's", "own makespan", "own edge"),
    "Figures 12 and 13 average over a time they do not state: until A_online is done, until each "
    "algorithm is, or until each has nothing left at the edge, as the measure `utilisation` does",
    judged=True,
)
UTILISATION = {
    "A_online's": "utilisation", "own makespan": "utilisation_own", "own edge": "utilisation_edge",
}  # fmt: skip
"""Columns of the measurements, by the window."""
CAP = Interpretation(
    "cap",
    ("larger", "smaller"),
    'Section VI on Figure 5 says "the larger the F, the larger the objective value" and two '
    "sentences on that the total weighted completion time will be smaller",
    judged=True,
)
