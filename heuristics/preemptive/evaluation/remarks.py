"""Why claims of the preemptive paper come out as they do: at quick scale, 3 seeds a cell."""

_GANGS = (
    "hangs on the gang alone: holds with a worker per chunk under every span and length of chunks, "
    "under none with the few workers of the trace's jobs"
)
_MAKESPAN = (
    "A_online's is the shorter by far at the default; nearest to the printed size with a worker "
    "per chunk, chunks a twentieth as long and a span of 336 slots"
)
_SIZE = "larger than printed under every interpretation; the load of the edge is in the note"

REMARKS = {
    "reduction_srtf": _SIZE,
    "reduction_tiresias_l": _SIZE,
    "reduction_best": _SIZE,
    "reduction_batch_sche": "the printed size with arrivals over 336 slots and printed chunk times",
    "grows_a_online_srtf": _GANGS,
    "grows_a_online_tiresias_l": _GANGS,
    "grows_a_online_e_srtf": _GANGS,
    "grows_a_online_e_tiresias_l": _GANGS,
    "makespan_srtf": _MAKESPAN,
    "makespan_tiresias_l": _MAKESPAN,
    "communication": "by wall clock; with a worker per chunk some baseline talks less in most "
    "instances; with the trace's gangs and short chunks A_online talks least in most",
    "all_cloud": "at the printed chunk times the unlimited cloud is better in nearly all "
    "instances; with chunks a twentieth as long A_online is ahead in most, over 336 slots in "
    "nearly all",
    "utilisation_a_online": "full at the printed chunk times, which overload the edge; chunks a "
    "twentieth as long leave it partly idle",
    "utilisation_a_online_e": "as for A_online",
    "preempts_a_online_srtf": "a suspended gang counts by its size: with a worker per chunk SRTF "
    "suspends more workers than A_online, with the trace's gangs fewer",
    "ratio_below_paper": "below 1.7 on every instance from epsilon = 0.2 on; at 0.1 the mean "
    "is 1.69 and the worst 1.82",
    "ratio_falls_best": "it rises in one step of one instance of 250, by 0.005",
    "ratio_near_one_best": "asked is no worse than optimal: at 1.5 times the speed A_online stays "
    "below a bound for a machine of speed 1",
}
"""By claim."""
