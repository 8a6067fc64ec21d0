"""Claims and sweeps that several tests measure."""

from heuristics.common.claims import Claim, Sweep, compared, measure_claims

DIRECTION = "direction holds, size does not"


def at_least_one(value):
    """Three equal values, so that the interval is one."""
    return compared([value] * 3, 1.0, sense="at least")


def claim(name, experiment, judge=at_least_one, **rest):
    """A claim with what tests do not care about filled in."""
    return Claim(name, "Figure 1", f"the text of {name}", "as it is", experiment, judge, **rest)


def findings(of, **options):
    """What comes of claims on one problem, by name."""
    judged = measure_claims({"covering": of}, "quick", **options)
    return {item.claim.name: item.finding for item in judged}


def tasks(scale):
    return [{"size": size} for size in range(4 if scale == "quick" else 6)]


def mean_double(frame):
    return compared(frame["double"].tolist(), 3.0)


def doubles(calls=None, fails_at=(), error=ValueError):
    """A sweep over sizes, whose measurements are twice the size."""

    def double(size):
        if calls is not None:
            calls.append(size)
        if size in fails_at:
            raise error("too large")
        return [{"double": 2 * size}]

    return Sweep("doubles", tasks, double)
