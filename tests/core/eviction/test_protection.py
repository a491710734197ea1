"""Which pods are never evicted, whatever the policy."""

from evictd.core.eviction.protection import is_protected
from tests.playbook import config, pod


def test_evictds_own_pod_is_protected() -> None:
    """Beside the critical ones."""
    assert is_protected(pod("me"), config(protected_pods=frozenset({"me"})))
    assert not is_protected(pod("you"), config(protected_pods=frozenset({"me"})))
