"""What the preemptive paper leaves open, where its claims may hang on it."""

from heuristics.common.claims import STATED as OF
from heuristics.common.claims import Interpretation

SPAN = Interpretation(
    "span",
    (168, 336),
    "Section V-B scales the trace's submission times by a factor it does not say: slots over which "
    "jobs arrive",
)
CHUNKS = Interpretation(
    "chunks",
    (1.0, 0.05),
    "Section V-A prints m_j = 0.001 to 0.05 h for jobs of up to 115 x 58 x 60 mini-batches, many "
    "times what the edge can do: factor of computing and communication times",
)
GANG = Interpretation(
    "gang",
    ("trace", "chunks"),
    "Section V-A says that baselines suspend whole jobs, not how many workers one holds: as many "
    "as the trace's job had GPUs, or one per chunk at once",
)
EPSILON = Interpretation(
    "epsilon",
    (0.1, 0.2, 0.3, 0.4, 0.5),
    "Section V-C states the ratio without the speed augmentation; Figure 13 has no caption",
    judged=True,
)
STATED = Interpretation(
    "stated",
    OF,
    'Section V-C: "remains at a low level (< 1.7)": the ratio on every instance, or the mean that '
    "the figures draw",
    judged=True,
)
SMALL = Interpretation(
    "small",
    ("SRTF and Tiresias-L", "A_online-E"),
    "Section I: the number of preemptions is relatively small: by that of the baselines that "
    "preempt, or of A_online kept at the edge",
    judged=True,
)
