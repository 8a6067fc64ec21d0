"""Why claims of the batch paper come out as they do."""

_TREND = "one seed gives the same jobs whatever the number of servers: like is compared with like"
_RATIO = (
    "rounds wait for the next power of two, which costs flow time more than completion time; "
    "starts within the window are the other reading"
)

REMARKS = {
    "figure_4_trend": _TREND,
    "figure_6_trend": _TREND,
    "figure_3_lowest": "against the paper's three rivals; FIFO by earliest completion, and sending "
    "every job to the cloud, are rivals that the text leaves out",
    "figure_14_flow": _RATIO,
    "figure_14_completion": _RATIO,
    "figure_14_flow_contended": _RATIO,
    "figure_14_completion_contended": _RATIO,
}
"""By claim."""
