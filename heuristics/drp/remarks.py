"""Why claims of the DRP/DSRP paper come out as they do: at quick scale, 3 or 4 seeds a cell."""

_THROUGHPUT = (
    "hangs on epsilon, which the paper does not give: with comm_share 0.1 both profiles give gains "
    "of the printed size or near it; with 0.5 and bandwidth alone scarce they shrink"
)
_BANDWIDTH = (
    "hangs on epsilon: nothing is saved with comm_share 0.5 where bandwidth alone is scarce, near "
    "the printed share with 0.1"
)
_STORAGE = (
    "R-DR with storage keeps 6 or 7 of 40 jobs where each has a service of its own; with one for "
    "each neural network it keeps 11 to 19 (2 seeds a topology), and the gain comes nearer to what "
    "is printed"
)
_PRINTED = (
    '"U > y" admits a job with probability 1 - y, so few of those that the relaxation takes; no '
    "curve of the paper can have been made that way"
)

REMARKS = {
    **{
        f"figure_{figure}_{other}": _THROUGHPUT
        for figure in (2, 3, 9, 10)
        for other in ("greedy", "nearest", "random")
    },
    **{
        f"figure_{figure}_{other}": _BANDWIDTH
        for figure in (5, 12)
        for other in ("greedy", "nearest", "random")
    },
    "section_5_throughput": _THROUGHPUT,
    "abstract_throughput": _THROUGHPUT,
    "section_5_bandwidth": _BANDWIDTH,
    **{
        f"{name}_{method}": _STORAGE
        for method in ("r_dsr_raw", "r_dsr")
        for name in (
            "figure_15", "figure_16", "figure_21", "figure_22", "section_5_throughput",
        )
    },
    **{
        f"{name}_r_dsr_printed": _PRINTED
        for name in (
            "figure_15", "figure_16", "figure_21", "figure_22", "section_5_throughput",
            "share_hexagon", "share_grid", "section_5_share",
        )
    },
}  # fmt: skip
"""By claim."""
