"""Memory that came back after an incident without an eviction, and what the kernel killed then."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Signal
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.relief.back_alone import back_alone
from evictd.render.incident.remedy.now import now_text
from tests.render.recorded_incident import incident
from tests.stories import GI

POINTS = ((0.0, GI // 2), (60.0, GI // 2), (90.0, 6 * GI), (120.0, 5 * GI))
"""The eviction is at 00:00:30, so the memory comes back until 00:02:00."""


def rose(*after: HistoryEvent) -> Incident:
    return replace(incident(), points=POINTS, capacity=8 * GI, after=after)


def kill(at: str, where: str, pod: str = "") -> HistoryEvent:
    return HistoryEvent(at=at, kind=EventKind.KERNEL, text="killed", pod=pod, evidence={"where": where})


def test_what_the_kernel_killed_outside_pods_is_named_as_the_suspect() -> None:
    """A daemon leaked, the journal had its kill, and only commands to look for it were named (world 08)."""
    killed = kill("2026-01-01T00:02:01Z", "daemon")
    found = rose(killed, killed, kill("2026-01-01T00:02:00Z", "default/web", "default/web"))
    back = back_alone(found)
    assert back is not None
    assert back.text == "5.5Gi came back until 00:02:00 without an eviction: the kernel killed processes of daemon then"
    suspect = "suspect daemon, because 5.5Gi came back when the kernel killed its processes; `systemd-cgtop -m` shows"
    assert suspect in now_text(replace(found, host_filled=True, pressed=True))


def test_kills_at_another_time_or_of_pods_name_no_suspect() -> None:
    late = kill("2026-01-01T00:02:30Z", "daemon")
    back = back_alone(rose(late))
    assert back is not None
    assert (back.killed, back.suspect_text) == ((), "")
    assert back.text.endswith("without an eviction: a process ended, or the kernel killed one (`journalctl -k`)")
    of_pod = back_alone(rose(late, kill("2026-01-01T00:02:00Z", "d/web", "d/web")))
    assert of_pod is not None
    assert of_pod.suspect_text == ""
    assert of_pod.text.endswith("without an eviction: the kernel killed processes of d/web then"), "the journal has it"


@pytest.mark.parametrize(
    "found",
    [
        replace(rose(), signal=Signal.NODEFS_AVAILABLE),
        replace(rose(), gone_after=None),
        replace(rose(), capacity=64 * GI),
        rose(HistoryEvent(at="2026-01-01T00:01:45Z", kind=EventKind.GONE, text="gone")),
        replace(rose(), points=POINTS[:1]),
    ],
    ids=["a disk", "it runs on", "little", "a pod ended", "no readings"],
)
def test_nothing_is_said_where_it_is_explained_or_not_known(found: Incident) -> None:
    assert back_alone(found) is None
