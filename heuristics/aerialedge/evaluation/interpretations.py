"""What AerialEdge's paper leaves open, where its claims may hang on it."""

from heuristics.common.claims import Interpretation

NODES = Interpretation(
    "nodes",
    ("own batch", "shared"),
    "Section IV-B: Tetris places half of the tasks at a time: on nodes of their own, or on what "
    "earlier ones left free, too",
    judged=True,
)
EXECUTION = Interpretation(
    "execution",
    ("pooled", "per job", "last task"),
    "(10) adds up mean task times job by job, Figure 9 fits them over all tasks, and a reader "
    "takes execution for the time until the last task ends",
    judged=True,
)
COLUMNS = {"pooled": "aet_pooled", "per job": "aet_per_job", "last task": "makespan"}
"""Columns of the measurements, by what execution means."""
RANDOM = Interpretation(
    "random",
    ("queued", "at once"),
    "Section IV-B: Random's usage, utilisation and times are for the tasks that it deploys, 38 % "
    "on Drone 2, but its times count all tasks: what finds no empty node waits, or is left out",
    judged=True,
)
