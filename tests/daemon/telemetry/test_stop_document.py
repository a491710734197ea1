"""Why no pod would go for a signal, in the document of `/statusz`."""

from evictd.core.eviction.next_up import who_is_next
from evictd.daemon.telemetry.stop_document import stop_document
from tests.render.snapshots import incident_snapshot


def test_where_a_pod_would_go_every_field_is_there_and_empty() -> None:
    calm = incident_snapshot("07-kernel-memory", 60)
    assert not any(stop_document(None, calm, calm.at).values())


def test_a_pause_has_a_length_until_it_has_begun_and_then_an_end() -> None:
    """Its end slid with each reading while the threshold was not met."""
    ends = {}
    for seconds in (1480, 1530, 1600):
        paused = incident_snapshot("45-host-path-beside-large-layers", seconds)
        answers = who_is_next(paused.state, paused.observation, paused.config, paused.at)
        found = stop_document(answers[0].stop, paused, paused.at)
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
        answers = who_is_next(paused.state, paused.observation, paused.config, paused.at)
        doubled[seconds] = stop_document(answers[0].stop, paused, paused.at)["stopDoubled"]
    assert doubled == {300: False, 625: True}
