"""What would have avoided an eviction, and what would not have."""

from dataclasses import replace

from evictd.render.incident.remedy.avoided import Avoidance, in_vain


def test_a_setting_in_vain_is_named_with_its_reason_and_with_the_eviction_that_it_is_about() -> None:
    said = Avoidance(by=("a limit",)) + in_vain("a request of 1Gi: it used more", moves=True)
    (vain,) = said.in_vain
    assert (said.by, said.not_by) == (("a limit",), ("a request of 1Gi: it used more",))
    assert (vain.setting, vain.moves) == ("a request of 1Gi", True)
    earlier = replace(vain, at="at the eviction of n/a at 10:00:00")
    assert earlier.setting == "at the eviction of n/a at 10:00:00: a request of 1Gi"
    assert earlier.whole == "at the eviction of n/a at 10:00:00: a request of 1Gi: it used more"
