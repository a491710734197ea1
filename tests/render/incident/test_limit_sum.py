"""Checks the sum that a proposed limit is."""

from evictd.core.model.signal import Resource
from evictd.render.incident.limit_sum import limit_sum
from evictd.render.text import rounded_below

MI = 1 << 20


def test_the_sum_names_what_was_held_what_was_missing_and_on_a_disk_what_grows_until_limits_are_checked() -> None:
    """A limit of 23.9Mi was proposed to a pod that held 83Mi; the next run of the same demo proposed 16.8Mi."""
    assert (
        limit_sum(83 * MI, MI, 0, Resource.MEMORY)
        == "(83Mi that it held, less 1Mi that was missing, and 0.5% for rounding)"
    )
    assert limit_sum(83 * MI, MI, 68 * MI, Resource.EPHEMERAL_STORAGE) == (
        "(83Mi that it held, less 1Mi that was missing, and 68Mi that it takes in the 10 s between two checks of limits, "
        "and 0.5% for rounding)"
    )


def test_the_sum_adds_up_where_a_byte_was_missing() -> None:
    """The sum "5.5Gi less 1" was to be 5.47Gi: neither the unit nor the rounding was named."""
    text = limit_sum(5632 * MI, 1, 0, Resource.MEMORY)
    assert text == "(5.5Gi that it held, less 1 byte that was missing, and 0.5% for rounding)"
    assert 100 * rounded_below(5632 * MI) // (5632 * MI) == 99
