"""What an incident says first."""

from dataclasses import replace

from evictd.render.attribution import clock_text
from evictd.render.incident.heading import avoidance_lines, heading_lines
from evictd.render.incident.record.verdict import Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from tests.render.recorded_incident import incident, judged


def test_it_says_what_it_was_what_to_do_now_and_each_setting_that_would_have_avoided_it() -> None:
    found = incident()
    heading = list(heading_lines(found))
    assert [line.partition(": ")[0] for line in heading] == ["in short", "now"]
    *by, not_by = avoidance_lines(found)
    assert by == [f"would have avoided it: {each}" for each in avoidance(found).by] != []
    assert not_by == (
        "would not have: a soft threshold (it was 2Gi) with a grace period of 1m30s (`evictd incident` says why)"
    )


def test_of_an_eviction_for_a_limit_of_its_own_it_says_the_limit() -> None:
    own = replace(incident(), signal=None, verdict=None)
    assert list(avoidance_lines(own))[-1].startswith("would have avoided it: less usage, or a higher limit of its own")


def test_a_request_that_keeps_the_pod_is_not_said_to_be_in_vain() -> None:
    """With the request the pod stayed and another one went, and `why` listed it among what would not have avoided it."""
    found = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=20 << 20))
    (moved,) = [
        each for each in avoidance(found).not_by if "default/web (5Gi) would have gone in its place then" in each
    ]
    lines = list(avoidance_lines(found))
    assert f"would have kept this pod, and avoided no eviction: {moved}" in lines
    assert not any("a request of" in each for each in lines if each.startswith("would not have: "))


def test_a_setting_is_named_beside_the_earlier_eviction_that_it_is_about() -> None:
    """Of an owner's later pod only the time of the first eviction was named, and not the setting."""
    first = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=20 << 20))
    settings = [each.setting for each in avoidance(first).in_vain if not each.moves]
    assert settings
    lines = list(avoidance_lines(replace(first, first=first)))
    named = "; ".join(
        f"at the eviction of {first.event.pod} at {clock_text(first.event.at)}: {each}" for each in settings
    )
    assert f"would not have: {named} (`evictd incident` says why)" in lines


def test_a_request_with_which_the_pod_goes_all_the_same_is_not_said_to_keep_it() -> None:
    """Where a tenth more would have kept the pod, the request of just what it used was said to have done so."""
    found = replace(judged(Need.NEEDED, Grower(pod="default/web", rate=20 << 20)), with_request="default/hog-old")
    found = replace(found, with_more="default/web")
    lines = list(avoidance_lines(found))
    (more,) = [each for each in avoidance(found).not_by if "with a tenth more, default/web" in each]
    assert not any(more in each for each in lines)
    assert any(each.startswith("would not have: a request of 6Gi of memory (it had none)") for each in lines)
