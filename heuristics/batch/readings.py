"""What the batch paper leaves open, where its claims may hang on it."""

from heuristics.common.claims import Reading

CLOUD = Reading(
    "cloud",
    ("unlimited", 200, 500),
    "Section VI lists the edge servers' workers and never the cloud's: without limit, or so many "
    "of each type",
)
FIFO = Reading(
    "fifo",
    ("start", "completion"),
    'Section VI: "dispatched to the server that can schedule the job earliest": the job\'s start '
    "there, or its completion",
    judged=True,
)
RIVALS = Reading(
    "rivals",
    ("the paper's", "and ALL-CLOUD"),
    "Section VI compares with FIFO, DRF and BatchSche; sending every job to the cloud is not there",
    judged=True,
)
WIDTH = Reading(
    "width",
    ("server", "spread"),
    'Section VI: jobs "preempt some workers of other jobs": those of one server, or of several',
    judged=True,
)
ROUNDS = Reading(
    "rounds",
    ("printed", "any start"),
    "Algorithm 2 loops over completion slots that Algorithms 3 and 4 compute anew, and line 3 is "
    "stricter than (2i): jobs begin with the window, or at any start that (2) allows",
    judged=True,
)
