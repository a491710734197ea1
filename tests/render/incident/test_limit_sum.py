"""Checks the sum that a proposed limit is."""

from evictd.core.model.signal import Resource
from evictd.render.incident.limit_sum import limit_sum

MI = 1 << 20


def test_the_sum_names_what_was_held_what_was_missing_and_on_a_disk_what_grows_until_limits_are_checked() -> None:
    """A limit of 23.9Mi was proposed to a pod that held 83Mi; the next run of the same demo proposed 16.8Mi."""
    assert limit_sum(83 * MI, MI, 0, Resource.MEMORY) == "(83Mi that it held, less 1Mi that was missing)"
    assert limit_sum(83 * MI, MI, 68 * MI, Resource.EPHEMERAL_STORAGE) == (
        "(83Mi that it held, less 1Mi that was missing, and 68Mi that it takes in the 10 s between two checks of limits)"
    )
