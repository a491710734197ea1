"""What is no pod and probably held the memory outside pods."""

import msgspec

from evictd.codec.records.journal_record import JournalRecord, RecordedKill
from evictd.render.incident.cause.host_suspect import host_suspect, outside_pods_of
from evictd.render.incident.cause.kill_cause import kill_cause
from evictd.render.incident.cause.kill_lines import kill_lines
from tests.render.incident.cause.test_kill_cause import record
from tests.stories import GI


def killing(found: JournalRecord, *where: str) -> JournalRecord:
    """The cycle in which the kernel killed processes of what is no pod."""
    extra = msgspec.structs.replace(found.extra, kernel_killed=tuple(RecordedKill(where=each) for each in where))
    return msgspec.structs.replace(found, extra=extra)


def test_what_gave_most_back_when_the_kernel_killed_it_is_the_suspect() -> None:
    full, clear = record(4, {"web": GI}, outside=7 * GI), killing(record(5, {"web": GI}), "agent")
    less = (record(6, {"web": GI}, outside=4 * GI), killing(record(7, {"web": GI}, outside=GI), "other"))
    text = "suspect agent, because 7Gi came back when the kernel killed its processes at 00:05:00"
    assert outside_pods_of(full) == 7 * GI
    assert host_suspect([full, clear, *less]) == text
    assert host_suspect([full, record(5, {"web": GI}, "web")]) == "", "a pod"
    assert host_suspect([full, killing(record(5, {"web": GI}, outside=13 * GI // 2), "agent")]) == "", (
        "little came back"
    )
    assert host_suspect([full, killing(record(3, {"web": GI}), "agent")]) == "", "of another boot"


def test_an_innocent_pod_that_the_kernel_killed_names_the_suspect_and_no_reservation() -> None:
    """`Let systemReserved and kubeReserved of the kubelet cover the 5.8Gi used outside pods` was said of a leak of the host."""
    calm, signal = record(0, {"web": 3 * GI}), "memory.available"
    kill, worse = record(2, {"web": 0}, "web", outside=5 * GI, signal=signal), record(3, {"web": 0}, outside=9 * GI)
    *_, now = kill_lines(kill_cause([calm, kill, worse, killing(record(4, {"web": 0}), "agent")], "n/web"), "n/web")
    assert "systemReserved" not in now
    assert now.endswith(": suspect agent, because 9Gi came back when the kernel killed its processes at 00:04:00")
