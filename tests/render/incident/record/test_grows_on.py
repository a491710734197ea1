"""What still grew at the end of the journal, and when the node is short again."""

from evictd.core.model.signal import Resource
from evictd.render.incident.record.grows_on import GrowsOn
from evictd.render.incident.record.verdict import Grower


def test_each_that_grows_is_named_and_when_the_node_is_short_again() -> None:
    slow, rest = Grower(pod="default/slow", rate=6 << 20, owner="Job/slow"), Grower(pod="", rate=5 << 20)
    grows = GrowsOn(growers=(slow, rest), short_at="11:13:44")
    assert grows.text(Resource.MEMORY) == (
        "default/slow of Job/slow still grows by 6Mi a second, what belongs to no pod still grows by 5Mi a second, "
        "and at these rates the node is short again at about 11:13:44"
    )
    assert grows.pods == ("default/slow",)
    assert grows.of_no_pod
    alone = GrowsOn(growers=(slow,), short_at="11:13:44")
    assert not alone.of_no_pod
    assert alone.text(Resource.MEMORY).endswith(", and at that rate the node is short again at about 11:13:44")
    forks = GrowsOn(growers=(Grower(pod="default/forks", rate=20),), short_at="11:13:44")
    assert "by 20 processes a second" in forks.text(Resource.PIDS)
