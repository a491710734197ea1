"""The identity of a world's pods."""

from evictd.world.model import pod_uid


def test_a_pod_s_uid_is_its_own_and_the_same_in_each_run() -> None:
    assert pod_uid("default/web") == pod_uid("default/web") != pod_uid("default/web-1")
    assert pod_uid("default/web")[:8] != pod_uid("default/web-1")[:8]
