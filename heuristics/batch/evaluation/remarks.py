"""Why claims of the batch paper come out as they do."""

_TREND = (
    "one seed gives the same jobs whatever the number of servers, so that like is compared with "
    "like: it falls in every step under every cloud"
)
_LOWEST = (
    "below the paper's three rivals in all instances with an unlimited cloud, and in most with a "
    "limited one; FIFO by earliest completion, and sending every job to the cloud, are below "
    "A_online in all"
)
_LOWEST_CONTENDED = (
    "with the unlimited cloud DRF alone is ahead anywhere, with a limit it is in most instances; "
    "FIFO by earliest completion and sending every job to the cloud are ahead in most or all"
)
_PREEMPTIVE = (
    "hangs on the cloud: with 200 or 500 workers there, which Preemptive shares with A_online, it "
    "is better in all instances, with an unlimited one, where nothing need be preempted, in half "
    "at most"
)
_PREEMPTIVE_CONTENDED = (
    "with an unlimited cloud and gangs no wider than a server's own workers, Preemptive is better "
    "in a part of the instances; spread over servers, or with a limited cloud, in all"
)
_A_ONLINE = (
    "holds with an unlimited cloud and gangs no wider than a server's own workers; spread gangs "
    "win some instances, and with a limited cloud Preemptive is better in all in spite of overhead"
)
_A_ONLINE_CONTENDED = (
    "at quick sizes holds with an unlimited cloud and gangs no wider than a server's own workers; "
    "with 200 jobs that is open; spread, or with a limited cloud, Preemptive is better in spite of "
    "its overhead"
)
_UTILISATION = (
    "hangs on the window: until A_online is done, with an unlimited cloud, Preemptive holds more "
    "of the edge in all instances; a window that ends when each is done is several times as long "
    "for Preemptive; with a limited cloud it finds room for nearly all jobs there"
)
_RATIO = (
    "rounds wait for the next power of two, which costs flow time more than completion time; "
    "starts within the window are the other interpretation"
)

REMARKS = {
    "figure_3_lowest": _LOWEST,
    "figure_4_lowest": _LOWEST,
    "figure_3_lowest_contended": _LOWEST_CONTENDED,
    "figure_4_lowest_contended": _LOWEST_CONTENDED,
    "figure_4_trend": _TREND,
    "figure_5_trend": "the paper contradicts itself: the larger F, the larger the objective, and "
    "two sentences on the smaller; F decides nothing with an unlimited cloud; with a limited one "
    "the total is less where F is tiny (1e-9, in a test), and the same from 0.01 on: one job then "
    "makes its server cost more than what a job is worth",
    "figure_6_trend": _TREND,
    "figure_7_preemptive": _PREEMPTIVE,
    "figure_8_preemptive": _PREEMPTIVE,
    "figure_11_preemptive": _PREEMPTIVE,
    "figure_7_preemptive_contended": _PREEMPTIVE_CONTENDED,
    "figure_8_preemptive_contended": _PREEMPTIVE_CONTENDED,
    "figure_9_a_online": _A_ONLINE,
    "figure_10_a_online": _A_ONLINE,
    "figure_9_a_online_contended": _A_ONLINE_CONTENDED,
    "figure_10_a_online_contended": _A_ONLINE_CONTENDED,
    "figure_12_utilisation": _UTILISATION,
    "figure_13_utilisation": _UTILISATION,
    "figure_12_utilisation_contended": _UTILISATION,
    "figure_13_utilisation_contended": _UTILISATION,
    "figure_14_flow": _RATIO,
    "figure_14_completion": _RATIO,
    "figure_14_flow_contended": _RATIO,
    "figure_14_completion_contended": _RATIO,
}
"""By claim."""
