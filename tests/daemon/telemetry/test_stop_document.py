"""Why no pod would go for a signal, and which one goes after that, in the document of `/statusz`."""

from dataclasses import replace

import pytest

from evictd.core.eviction.next_up import who_is_next
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import NoAction
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.statusz.stop_document import stop_document
from evictd.render.status.headline import headline
from evictd.render.status.remedy.remedies import to_do
from evictd.render.status.stopped import past_its_budget, stop_text
from evictd.render.text import seconds_text
from tests.daemon.status import status_of
from tests.render.played_worlds import incident_run
from tests.render.shown_nodes import page
from tests.render.snapshots import incident_snapshot, snapshot_at


def stop_of(snapshot: Snapshot) -> NoAction:
    """Return why no pod would go for the first signal."""
    answers = who_is_next(snapshot.state, snapshot.observation, snapshot.config, snapshot.at)
    assert answers[0].stop is not None
    return answers[0].stop


def test_where_a_pod_would_go_every_field_is_there_and_empty() -> None:
    calm = incident_snapshot("07-kernel-memory", 60)
    assert not any(stop_document(None, calm, calm.at).values())


def test_a_pause_has_a_length_until_it_has_begun_and_then_an_end() -> None:
    """Its end slid with each reading while the threshold was not met."""
    ends = {}
    for seconds in (1480, 1530, 1600):
        paused = incident_snapshot("45-host-path-beside-large-layers", seconds)
        found = stop_document(stop_of(paused), paused, paused.at)
        assert (found["stopReason"], found.keys()) == ("EvictionsDoNotHelp", stop_document(None, paused, 0).keys())
        ends[seconds] = (found["stopLastsSeconds"], found["stopEndsInSeconds"])
    assert ends[1480] == ends[1530] == (600.0, None)
    assert ends[1600][0] is None
    assert 0 < ends[1600][1] < 600


def test_a_pause_after_another_one_is_said_to_be_twice_as_long() -> None:
    """It paused for ten minutes, evicted one pod, and said that it pauses for 19m40s."""
    doubled = {}
    for seconds in (300, 625):
        paused = incident_snapshot("23-threshold-never-clear", seconds)
        doubled[seconds] = stop_document(stop_of(paused), paused, paused.at)["stopDoubled"]
    assert doubled == {300: False, 625: True}


@pytest.mark.parametrize(
    ("name", "seconds", "left"),
    [("13-pinned-deployment", 400, 211.7), ("07-kernel-memory", 330, 580.0), ("44-limit-of-evictions", 400, 1779.6)],
)
def test_the_pod_that_goes_then_is_the_one_that_goes(name: str, seconds: int, left: float) -> None:
    """A pod was due after a pause, and neither the page nor `status` named it."""
    run = incident_run(name)
    paused = snapshot_at(run, seconds)
    stop = stop_of(paused)
    then = stop_document(stop, paused, paused.at)["stopThen"]
    assert then["inSeconds"] == left
    later = [each for each in run.cycles if each.at > paused.at]
    went = [each.pod.full_name for cycle in later for each in cycle.step.decisions if isinstance(each, EvictPod)]
    assert went[:1] in ([then["pod"]], [])
    assert stop_document(replace(stop, until=None), paused, paused.at)["stopThen"] is None
    assert stop_document(stop, paused, paused.at + 10_000 * SECOND)["stopThen"] == {**then, "inSeconds": 0}


def test_the_headline_and_status_name_it() -> None:
    paused = incident_snapshot("13-pinned-deployment", 400)
    status = status_of(paused, paused.at)
    then = "hen default/pinned-2 would be evicted if the threshold is still met"
    assert headline(status).text.endswith(f"gave back 100Mi. T{then}.")
    (nodefs, *_) = status["signals"]
    assert nodefs["next"] is None
    assert stop_text(status, nodefs).endswith(f"until 22:23:31 UTC (in 3m32s); t{then}")


def test_a_stop_without_an_end_names_no_pod() -> None:
    guarded = incident_snapshot("25-budget-of-zero", 290)
    assert [each["stopThen"] for each in status_of(guarded, guarded.at)["signals"] if each["stop"]] == [None, None]


def test_an_owner_whose_pods_all_exceed_their_requests_is_named() -> None:
    """`Relieve the node` named neither the owner of 18 pods nor that each exceeds its request (world 44)."""
    limited = incident_snapshot("44-limit-of-evictions", 450)
    raised = "raise the requests of ReplicaSet/web (its pods use 350Mi and request 200Mi), move pods away"
    assert to_do(status_of(limited, limited.at)) == (
        f"see which pods went (`evictd history`), then {raised} or raise `evictionLimit`"
    )


@pytest.mark.parametrize(("seconds", "left"), [(68, 68.0), (100, 44.0)])
def test_the_pod_that_is_tried_next_is_known_before(seconds: int, left: float) -> None:
    """`evictd deletes that pod from 22:15:26 UTC on` never came true: the Eviction API was set, and web-0 was tried."""
    guarded = incident_snapshot("42-budget-of-one", seconds)
    instead = stop_document(stop_of(guarded), guarded, guarded.at)["stopInstead"]
    assert instead == {"pod": "default/web-0", "inSeconds": left}
    status = status_of(guarded, guarded.at)
    never = "with podTermination EvictionAPI evictd deletes no pod despite a budget"
    text = headline(status).text
    assert f"{never}; default/web-0 may go in its place from 22:15:35 UTC (in {seconds_text(left)}) on." in text
    (memory, *_) = status["signals"]
    assert past_its_budget(status, {**memory, "stopInstead": None}) == never
    late = {"pod": "default/web-0", "inSeconds": -1.0}
    assert past_its_budget(status, {**memory, "stopInstead": late}).endswith("may go in its place at the next attempt")
    auto = {**status, "podTermination": "Auto"}
    assert "with podTermination Auto evictd deletes that pod" in headline(auto).text
    assert never in page(guarded, 0), "the page goes by the configuration of the last cycle"
