"""Checks the sentences of the pods of one owner that do not all fit on a node."""

from evictd.render.incident.record.overcommit import Overcommit
from tests.world.worlds import GI

OWNER = "ReplicaSet/shard"


def test_no_request_is_named_where_the_memory_of_the_node_is_not_known() -> None:
    over = Overcommit(owner=OWNER, pods=3, most=GI, fit=2, request=0)
    asked = f"a request of a little more memory than each uses in all pods of {OWNER}"
    assert over.remedy == f"{asked}: with it the scheduler places fewer of them here"
