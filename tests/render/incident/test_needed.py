"""Whether the end of an evicted pod was needed, in words."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE
from evictd.render.incident.needed import verdict_text
from evictd.render.incident.record.aftermath import MetAfter
from evictd.render.incident.record.arrivals import NewPods
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need, NotJudged
from evictd.render.incident.summary import summary_text
from tests.render.recorded_incident import incident

GREW = (Grower(pod="default/hog-old", rate=85 << 20),)
NEEDED = EvictionVerdict(
    need=Need.NEEDED, pod="default/hog-old", fewest=("default/hog-old",), growers=GREW, played=5 * MINUTE
)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            replace(incident(), verdict=NEEDED, host_filled=True, met=MetAfter(again=9.0)),
            "the host filled it, and if that goes on, the node is short again",
        ),
        (
            replace(incident(), verdict=NEEDED, host_filled=True, met=MetAfter(again=9.0), signal=Signal.NODEFS_AVAILABLE),
            "the host or a hostPath volume filled it, and if that goes on, the node is short again",
        ),
        (
            replace(incident(), verdict=replace(NEEDED, need=Need.NO_POD_HELPS), signal=Signal.NODEFS_AVAILABLE, clear=None,
                met=MetAfter(again=9.0), known_for=20.0),
            "no end of any pod would have relieved the node; the host, a hostPath volume or a protected pod is the cause",
        ),
        (
            replace(incident(), verdict=replace(NEEDED, need=Need.NO_POD_HELPS), signal=Signal.NODEFS_AVAILABLE, clear=None,
                met=MetAfter(again=9.0), known_for=20.0, host_filled=True, suspects={"default/writer": ""}),
            ("no end of a pod alone would have relieved the node; together with the end of a pod that fills a hostPath volume, "
            "which is not measured, it may have been needed"),
        ),
    ],
)  # fmt: skip
def test_the_verdict_names_what_is_no_pods(found: Incident, said: str) -> None:
    """The end of four pods was called the fewest that relieve a disk that a hostPath volume had filled."""
    assert verdict_text(found).endswith(said)


def test_an_end_that_only_the_formula_needed_is_said_to_be_so() -> None:
    because = {**incident().event.evidence["because"], "filePages": 5 << 30}
    event = replace(incident().event, evidence={**incident().event.evidence, "because": because})
    assert verdict_text(replace(incident(), event=event, verdict=NEEDED)) == (
        "its end was needed only because memory.formula counts page cache, which the kernel can drop"
    )


def test_an_unmeasured_pod_whose_end_relieved_the_node_held_what_was_missing() -> None:
    """It said that by the growth that was measured no end of any pod would have, below the end that did (world 24)."""
    no_pod = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", played=0)
    found = replace(incident(), measured=False, verdict=no_pod)
    assert verdict_text(found) == (
        "its end was needed: default/hog-old was not measured; up to 5.5Gi came back with its end, so it held what was missing"
    )
    assert "by what was measured, no end of any pod" in verdict_text(replace(found, measured=True))


def test_the_fewest_pods_are_not_said_of_growth_alone_that_ended() -> None:
    """The end of three pods was asked for, and one more had been enough: growth ended with the eviction (world 42)."""
    growers = (*GREW, Grower(pod="default/web", rate=85 << 20))
    verdict = replace(NEEDED, growers=growers, fewest=("default/hog-old", "default/web"))
    points = tuple(each for each in incident().points if each[0] <= 0)
    found = replace(
        incident(), verdict=verdict, host_filled=False, clear=None, points=(*points, (5.0, (points[-1][1]) + (1 << 30)))
    )
    assert "grew no more" not in verdict_text(found)
    ended = replace(found, steady=frozenset({"default/web"}))
    assert verdict_text(ended).endswith("; default/web grew no more afterwards, and 512Mi was missing then")


def test_a_verdict_that_counts_with_no_other_pod_says_which_came() -> None:
    """It was not needed, it said, and pods came each five seconds (world 22)."""
    verdict = replace(NEEDED, need=Need.NOTHING_SHORT, growers=(), fewest=())
    found = replace(incident(), host_filled=False, verdict=verdict)
    stayed = "if nothing had grown for 5m0s and no other pod had come, no threshold would have been met"
    assert verdict_text(found) == f"its end was not needed: {stayed}"
    came = replace(found, arrivals=NewPods(after=2))
    assert (
        verdict_text(came)
        == f"whether its end was needed is not known: {stayed}; 2 other pods came in the 5m0s after it"
    )


@pytest.mark.parametrize("why", NotJudged)
def test_of_an_eviction_that_is_not_judged_it_says_why(why: NotJudged) -> None:
    """It had no line, so that a reader did not know whether the question was asked."""
    said = verdict_text(replace(incident(), verdict=None, not_judged=why))
    assert said.startswith("whether its end was needed is not known: ")
    assert len(said) > len("whether its end was needed is not known: ")


def test_a_pod_that_exceeded_a_limit_of_its_own_was_not_ended_for_the_node() -> None:
    said = verdict_text(replace(incident(), signal=None, verdict=None))
    assert said == "its end was needed for a limit of its own, however much was left on the node"


def test_of_a_dry_run_the_need_depends_on_the_reclaim_before() -> None:
    """It said that the end of the pod was needed, and a reclaim that was not done may have freed enough."""
    event = replace(incident().event, dry_run=True, unless_reclaim=True)
    text = verdict_text(replace(incident(), event=event, verdict=NEEDED))
    assert text.startswith("its end was needed")
    assert text.endswith("; it was not if the reclaim before would have freed enough")


def test_growth_that_did_not_go_on_makes_no_eviction_one_that_was_not_needed() -> None:
    """A burst ended seconds after the eviction, and the next one came 15 minutes later: `simulate` called both needed."""
    verdict = EvictionVerdict(
        need=Need.ANOTHER_POD,
        pod="default/hog-old",
        fewest=("default/api", "default/web"),
        growers=(Grower(pod="default/web", rate=1 << 20),),
        played=5 * MINUTE,
    )
    found = replace(incident(), host_filled=False, verdict=verdict, met=MetAfter(again=900.0))
    assert verdict_text(found).startswith("the end of a pod was needed, and its own relieved the node; that of ")
    assert "not needed" not in summary_text(found)
    soon = replace(found, met=MetAfter(again=200.0))
    assert verdict_text(soon).startswith("its end was not needed: ")
    assert "not needed" in summary_text(soon)
