"""Who filled what was short, from the record of an eviction."""

from dataclasses import replace

from evictd.codec.journal_record import decode_record
from evictd.render.incident.filled import fills_host, is_unknown, outside_pods_held, who_filled
from tests.render.recorded_incident import incident, journal_lines


def test_what_pods_took_again_is_no_part_of_what_filled_the_supply() -> None:
    """A pod took its 300Mi again after a restart and the host leaked: nothing was said of the host."""
    held = who_filled(decode_record(journal_lines()[1]))
    assert held is not None
    assert fills_host(held)
    grown = held.elsewhere.grown
    with_pods = replace(held, evictable=replace(held.evictable, grown=3 * grown))
    assert not fills_host(with_pods)
    assert fills_host(with_pods, 2 * grown)
    assert not fills_host(replace(held, outdated=1))
    assert not fills_host(replace(held, unread=1)), "pods wrote it since they were read, and the host was blamed"
    assert is_unknown(replace(held, unread=1))
    assert not is_unknown(replace(with_pods, unread=1))
    assert not any(map(is_unknown, (held, None)))
    assert not fills_host(None)
    assert outside_pods_held(held, incident().event) is None
    assert outside_pods_held(None, incident().event) is None
