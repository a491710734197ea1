"""Checks what is said of a resize of the memory request that the kubelet had not granted."""

from dataclasses import replace

import pytest

from evictd.render.incident.avoidance import avoidance
from evictd.render.incident.incident import Incident
from evictd.render.incident.resize import resize_in_vain, resize_remedy
from tests.render.recorded_incident import incident
from tests.stories import GI

FOUND = incident()
USED = max(row.usage or 0 for row in FOUND.ranking if row.chosen)
ASKING = replace(FOUND, asked=USED + GI, capacity=64 * GI)


def test_a_pod_that_asked_for_enough_gets_it_where_so_much_is_free() -> None:
    """Only a limit was advised to a pod that had asked for what it used."""
    (remedy,) = resize_remedy(ASKING)
    assert remedy.startswith(
        "if it needs 7Gi of memory, a new pod with that request in place of the resize: the scheduler"
    )
    assert remedy.endswith("its condition PodResizePending says why the kubelet did not grant it here")
    assert remedy in avoidance(ASKING).by
    assert resize_in_vain(ASKING) == ()


def test_a_node_that_is_too_small_for_it_is_named() -> None:
    (remedy,) = resize_remedy(replace(ASKING, capacity=7 * GI))
    assert remedy.endswith("of the 7Gi of this node, so the kubelet cannot grant it here")


def test_a_resize_to_less_than_it_used_is_in_vain() -> None:
    less = replace(FOUND, asked=USED - GI)
    assert resize_remedy(less) == ()
    assert resize_in_vain(less) == ("its resize to 5Gi of memory granted: it used 6Gi, which is more",)
    assert set(resize_in_vain(less)) <= set(avoidance(less).not_by)


@pytest.mark.parametrize("found", [FOUND, replace(ASKING, ranking=())], ids=["no resize", "no ranking"])
def test_else_nothing_is_said(found: Incident) -> None:
    assert (resize_remedy(found), resize_in_vain(found)) == ((), ())
