"""Interpretations of the paper: claims measured and judged under every one that can move them."""

from dataclasses import replace

from claims_cases import DIRECTION, claim, tasks

from heuristics.common.claims import (
    Interpretation,
    Judged,
    Sweep,
    compared,
    markdown,
    measure_claims,
)
from heuristics.common.claims.interpretations import best, fits
from heuristics.common.claims.tables import verdict_of

WIDE = Interpretation("wide", (False, True), "Section 2 does not say")
ROUNDED = Interpretation("rounded", ("down", "up"), "a table in whole numbers", judged=True)


def lengths(calls=None):
    """A sweep whose lengths hang on an interpretation."""

    def length(size, wide=False):
        if calls is not None:
            calls.append((size, wide))
        return [{"length": 10.0 * (1 + wide)}]

    return Sweep("lengths", tasks, length)


def twenty(frame, rounded="down"):
    return compared((frame["length"] + (rounded == "up")).tolist(), 20.0, neutral=0.0, room=0.5)


def judged_under(of, interpretations=True, **options):
    (item,) = measure_claims(
        {"covering": [of]}, "quick", interpretations=interpretations, **options
    )
    return item


def test_a_claim_that_holds_under_one_interpretation_alone_says_so_in_its_row():
    item = judged_under(
        claim("length", lengths(), twenty, printed=20.0, interpretations=(WIDE, ROUNDED))
    )
    verdicts = {tuple(one.combination.values()): one.finding.verdict for one in item.under}
    assert verdicts == {
        (False, "down"): DIRECTION,
        (False, "up"): DIRECTION,
        (True, "down"): "holds",
        (True, "up"): "holds" if abs(21 - 20) <= 0.5 else DIRECTION,
    }
    assert item.finding.verdict == DIRECTION  # of the default, which stands first
    assert item.finding.value == 10.0
    assert "holds under 1 of 4 interpretations: wide True, rounded down" in item.finding.note
    full = replace(item, scale="full")
    assert verdict_of(full) == f"{DIRECTION} (3 of 4 interpretations)"
    assert verdict_of(item) == f"{DIRECTION} (3 of 4 interpretations; provisional, n = 4)"
    assert "1 in direction only (1 hang on an interpretation)" in markdown([full])


def test_the_default_alone_is_measured_unless_interpretations_are_asked_for():
    calls = []
    of = claim("length", lengths(calls), twenty, interpretations=(WIDE, ROUNDED))
    assert judged_under(of, interpretations=False).under == ()
    assert {wide for _, wide in calls} == {False}
    calls.clear()
    judged_under(of)
    assert len(calls) == 2 * 4  # an interpretation that is only judged measures nothing anew


def test_an_interpretation_that_moves_no_verdict_leaves_the_claim_alone():
    item = judged_under(claim("length", lengths(), at_least, interpretations=(WIDE,)))
    assert verdict_of(replace(item, scale="full")) == "holds"
    assert len(item.under) == 2
    page = markdown([item])
    assert "the same under all 2 interpretations" in page
    assert "fits what is printed best" not in page


def at_least(frame):
    return compared(frame["length"].tolist(), 5.0, sense="at least")


def test_the_interpretation_that_fits_best_has_the_best_verdict_and_then_the_least_distance():
    item = judged_under(
        claim("length", lengths(), twenty, printed=20.0, interpretations=(WIDE, ROUNDED))
    )
    assert best(item).combination == {"wide": True, "rounded": "down"}
    (first, *_) = fits([item])
    assert (first.combination, first.holds) == ({"wide": True, "rounded": "down"}, 1)
    assert first.distance == 0.0


def test_an_instance_that_is_left_open_under_an_interpretation_is_another_verdict():
    def judge(frame, rounded="down"):
        return compared([9.0, 11.0, 10.0] if rounded == "up" else [10.0] * 3, 10.2, sense="at most")

    item = judged_under(claim("length", lengths(), judge, interpretations=(ROUNDED,)))
    assert [one.finding.verdict for one in item.under] == ["holds", "undecided"]
    assert verdict_of(replace(item, scale="full")) == "holds (1 of 2 interpretations)"


def test_an_interpretation_that_cannot_be_measured_is_counted_nowhere():
    def judge(frame, rounded="down"):
        return compared([10.0] * 3 if rounded == "down" else [], 10.0)

    item = judged_under(claim("length", lengths(), judge, interpretations=(ROUNDED,)))
    assert [one.finding.verdict for one in item.under] == ["holds", "not measured"]
    assert verdict_of(replace(item, scale="full")) == "holds"


def test_interpretations_stand_beside_their_claim_on_the_page():
    item = judged_under(
        claim("length", lengths(), twenty, printed=20.0, interpretations=(WIDE, ROUNDED))
    )
    page = markdown([item])
    assert "| wide True, rounded down * | 20 | 20 to 20 | 4 | holds |" in page
    assert "**wide** (False, True): Section 2 does not say" in page


def test_what_is_no_claim_of_the_paper_is_measured_and_says_so():
    item = judged_under(claim("length", lengths(), at_least, standing="not in the paper"))
    assert (item.finding.verdict, item.finding.value) == ("not in the paper", 10.0)


def test_quick_verdicts_are_provisional_and_say_of_how_many():
    item = judged_under(claim("length", lengths(), at_least))
    assert "holds (provisional, n = 4)" in markdown([item])
    assert "provisional" not in markdown([Judged("covering", item.claim, item.finding)])
