"""Which commands show what belongs to no pod."""

from dataclasses import replace

from evictd.core.model.signal import Signal
from evictd.render.incident.remedy.on_host import look, on_host
from tests.render.recorded_incident import incident


def test_where_to_look_depends_on_what_is_short() -> None:
    found = replace(incident(), signal=Signal.PID_AVAILABLE)
    assert on_host(found) == "`systemd-cgtop -t` shows the processes of its services"
    assert look(found) == "look at the host"
    disk = replace(found, signal=Signal.NODEFS_INODES_FREE)
    assert "--inodes" in on_host(disk)
    assert "/var/lib/kubelet" in on_host(disk)
    assert look(disk) == "look at the host, and at snapshots that no image uses"


def test_a_suspect_of_the_journal_is_named_where_memory_is_short() -> None:
    """Neither the incident before the kill that gave 7.9Gi back nor those after the next growth named the agent."""
    suspect = "suspect agent, because 7Gi came back when the kernel killed its processes at 00:05:00"
    assert on_host(replace(incident(), host_suspect=suspect)).startswith(f"{suspect}; `systemd-cgtop -m` shows")
    assert suspect not in on_host(replace(incident(), host_suspect=suspect, signal=Signal.PID_AVAILABLE))
