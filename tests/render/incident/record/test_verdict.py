"""Whether an eviction was needed, as a sentence."""

from dataclasses import replace

import pytest

from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need

GROWN = "if growth had gone on for 5m0s as in the minute before"
STAYED = "if nothing had grown for 5m0s and no other pod had come"


LEAK, HOST = Grower(pod="a/y", rate=20), Grower(pod="", rate=5)


@pytest.mark.parametrize(
    ("need", "fewest", "growers", "relieved", "text"),
    [
        (Need.NEEDED, ("a/x",), (LEAK,), False, f"its end was needed: {GROWN}, its end alone would have relieved the node"),
        (
            Need.NEEDED, ("a/x", "a/y"), (LEAK,), True,
            (
                "its end was needed: if growth had gone on for 5m0s as in the minute before, the fewest pods whose "
                "end relieves the node are a/x, a/y; its own relieved the node"
            ),
        ),
        (
            Need.NEEDED, ("a/x",), (LEAK,), True,
            (
                "its end was needed: if growth had gone on for 5m0s as in the minute before, its end alone would "
                "have relieved the node, and it did"
            ),
        ),
        (
            Need.NEEDED, ("a/x", "a/y"), (LEAK,), False,
            f"its end was needed: {GROWN}, the fewest pods whose end relieves the node are a/x, a/y",
        ),
        (
            Need.ANOTHER_POD, ("a/y",), (LEAK,), True,
            "the end of a pod was needed, and its own relieved the node; that of a/y in its place would have relieved it as well",
        ),
        (
            Need.ANOTHER_POD, ("a/y",), (LEAK,), False,
            f"its end was not needed: {GROWN}, the end of a/y in its place would have relieved the node",
        ),
        (Need.NOTHING_SHORT, (), (LEAK,), True, f"its end was not needed: {GROWN}, no threshold would have been met"),
        # Pods that came had filled the node, and "had everything gone on growing" was said (world 22).
        (Need.NOTHING_SHORT, (), (), True, f"its end was not needed: {STAYED}, no threshold would have been met"),
        (
            Need.NO_POD_HELPS, (), (), True,
            "whether its end was needed is not known: it relieved the node; by what was measured, no end of any pod would have",
        ),
        # "although by the growth that was measured no end would have" was hard to read.
        (
            Need.NO_POD_HELPS, (), (HOST,), True,
            f"whether its end was needed is not known: it relieved the node; {GROWN}, no end of any pod would have",
        ),
        (
            Need.NO_POD_HELPS, (), (), False,
            (
                "its end was not needed: no end of any pod would have relieved the node, and nothing grew; "
                "the threshold is above its normal level"
            ),
        ),
        (
            Need.NO_POD_HELPS, (), (HOST,), False,
            (
                f"its end was not needed: {GROWN}, no end of any pod would have relieved the node; "
                "the host or a protected pod is the cause"
            ),
        ),
    ],
)  # fmt: skip
def test_each_verdict_is_a_sentence(
    need: Need, fewest: tuple[str, ...], growers: tuple[Grower, ...], relieved: bool, text: str
) -> None:
    verdict = EvictionVerdict(need=need, pod="a/x", fewest=fewest, growers=growers, played=5 * MINUTE)
    assert verdict.text(relieved=relieved, cause="the host or a protected pod") == text


def test_what_made_half_of_all_growth_is_named() -> None:
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="a/x", growers=(LEAK, HOST), played=MINUTE)
    assert (verdict.grower, verdict.may_have_grown) == (LEAK, False)
    equal = EvictionVerdict(need=Need.NEEDED, pod="a/x", growers=(LEAK, replace(LEAK, pod="a/x")), played=MINUTE)
    assert (equal.grower, equal.grew) == (None, True), "each of the two made half"
    assert not verdict.grew
    three = tuple(Grower(pod=f"a/{name}", rate=10) for name in "xyz")
    verdict = EvictionVerdict(need=Need.NEEDED, pod="a/x", growers=three, played=MINUTE)
    assert (verdict.grower, verdict.may_have_grown) == (None, True)


def test_what_came_back_is_beside_the_verdict() -> None:
    """A pod whose end gave nothing back was called needed, and a full disk one on which nothing grew."""
    alone = EvictionVerdict(need=Need.NEEDED, pod="a/x", fewest=("a/x",), played=MINUTE)
    assert alone.text(too_little=True) == (
        "whether its end was needed is not known: by what was measured it alone would have relieved the node, and it did not"
    )
    assert (
        EvictionVerdict(need=Need.NO_POD_HELPS, pod="a/x", growers=(HOST,), played=MINUTE)
        .text(cause="the host, a hostPath volume or a protected pod")
        .endswith("; the host, a hostPath volume or a protected pod is the cause")
    )
    full = EvictionVerdict(need=Need.NO_POD_HELPS, pod="a/x", played=MINUTE)
    assert full.text(filled=True, cause="the host or a protected pod") == (
        "its end was not needed: no end of any pod would have relieved the node; the host or a protected pod is the cause"
    )


def test_a_need_beside_the_end_of_a_writer_that_is_not_measured_is_not_ruled_out() -> None:
    """It said that web-0 was not needed: with the end of the pod that wrote to a hostPath volume it was (world 03)."""
    verdict = EvictionVerdict(need=Need.NO_POD_HELPS, pod="a/x", growers=(HOST,), played=5 * MINUTE)
    assert verdict.text(files_stay=True) == (
        f"by what was measured its end was not needed: {GROWN}, no end of a pod alone would have relieved the node; "
        "together with the end of a pod that fills a hostPath volume, which is not measured, it may have been needed"
    )
    still = replace(verdict, growers=()).text(files_stay=True, filled=True)
    assert still.startswith("its end was not needed: no end of a pod alone"), "the files stay"


def test_what_grew_fast_for_a_short_time_brings_forward_what_had_grown_much_more() -> None:
    own, burst = Grower(pod="a/x", rate=20, grown=900), Grower(pod="a/y", rate=30, grown=100)
    verdict = EvictionVerdict(need=Need.NEEDED, pod="a/x", growers=(burst, own), played=MINUTE)
    assert verdict.brought_forward_by == burst
    assert replace(verdict, growers=(burst, replace(own, grown=150))).brought_forward_by is None
    assert replace(verdict, growers=(burst, replace(own, grown=None))).brought_forward_by is None
    assert replace(verdict, growers=(replace(burst, rate=300), own)).brought_forward_by is None, (
        "it hardly grows any more"
    )
    assert replace(verdict, growers=(burst,)).brought_forward_by is None


def test_what_grew_much_less_than_what_made_most_of_the_growth_is_no_cause() -> None:
    own, leak = Grower(pod="a/x", rate=10), Grower(pod="a/y", rate=30)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="a/x", fewest=("a/y",), growers=(leak, own), played=MINUTE)
    assert verdict.causes == {"a/y"}
    assert verdict.grower_suffices
    assert not replace(verdict, fewest=("a/z",)).grower_suffices
    both = replace(verdict, growers=(leak, replace(own, rate=15)))
    assert both.causes == {"a/x", "a/y"}
    assert not both.grower_suffices
    many = tuple(Grower(pod=f"a/{i}", rate=10) for i in range(3))
    assert replace(verdict, growers=(leak, *many)).causes == {"a/y", "a/0", "a/1", "a/2"}, "none made most of it"
    assert replace(verdict, growers=(Grower(pod="", rate=30), own)).causes == {"a/x"}, "no pod did"
    grown = (replace(leak, rate=15, grown=100), replace(own, grown=900))
    assert replace(verdict, growers=grown).causes == {"a/x", "a/y"}, "that only brought it forward"


def test_a_growth_that_was_measured_for_less_than_half_a_minute_has_its_time() -> None:
    """A run of 23 s said `as in the minute before`."""
    grew = Grower(pod="default/a", rate=1)
    whole = EvictionVerdict(need=Need.NEEDED, pod="default/a", fewest=("default/a",), growers=(grew,), played=MINUTE)
    assert whole.before == "the minute before"
    short = replace(whole, measured_over=12 * SECOND)
    assert short.text() == (
        "its end was needed: if growth had gone on for 1m0s as in the 12 s before, its end alone would have "
        "relieved the node"
    )


@pytest.mark.parametrize("need", [Need.ANOTHER_POD, Need.NEEDED])
def test_the_end_of_a_pod_that_did_not_grow_is_no_advice(need: Need) -> None:
    """Beside writers of logs "the end of shop/postgres-0 in its place would have relieved the node" was read as advice."""
    verdict = EvictionVerdict(need=need, pod="a/x", fewest=("a/db", "a/y"), growers=(LEAK,), played=5 * MINUTE)
    assert verdict.text().endswith(" (a comparison, not advice: a/db did not grow)")
    assert "advice" not in replace(verdict, fewest=("a/y",)).text()
    assert "advice" not in replace(verdict, growers=()).text(), "nothing grew"


def test_the_end_of_one_that_grew_is_no_mistake_because_a_larger_one_did_not() -> None:
    """One of two pods that grew went, and "its end was not needed" was said, because a cache that stood still held more."""
    verdict = EvictionVerdict(
        need=Need.ANOTHER_POD,
        pod="a/y",
        fewest=("a/cache",),
        growers=(LEAK, replace(LEAK, pod="a/z")),
        played=5 * MINUTE,
    )
    assert verdict.only_larger
    assert verdict.text() == (
        f"the end of a pod was needed: {GROWN}, its own alone would not have relieved the node; that of a/cache would have "
        "(a comparison, not advice: a/cache did not grow)"
    )
    assert not replace(verdict, fewest=("a/z",)).only_larger
    assert not replace(verdict, growers=(replace(LEAK, pod="a/z"),)).only_larger, "it did not grow"
    assert not replace(verdict, need=Need.NEEDED).only_larger
