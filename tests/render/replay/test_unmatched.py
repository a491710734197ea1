"""Which groups of `ranking` no pod of a journal is in."""

from evictd.core.model.config import PodGroup, Preferences
from evictd.core.model.observation import Observation
from evictd.render.replay.unmatched import unmatched_groups
from tests.playbook import pod

BATCH, PAYMENTS = (PodGroup(namespaces=frozenset({name})) for name in ("batch", "payments"))


def test_a_group_is_named_that_no_reading_has_a_pod_of() -> None:
    readings = [Observation(node=None, pods=(pod("a", namespace=name),)) for name in ("default", "batch")]
    found = unmatched_groups(Preferences(prefer=(BATCH, PAYMENTS), avoid=(PAYMENTS, BATCH)), readings)
    assert list(found) == ["ranking.prefer[1]", "ranking.avoid[0]"]
    assert list(unmatched_groups(Preferences(avoid=(BATCH,)), readings[:1])) == ["ranking.avoid[0]"]
