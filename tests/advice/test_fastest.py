"""How fast a signal fell at most."""

from dataclasses import replace

from evictd.advice.fastest import fastest_falls
from tests.advice.test_proposal import MEMORY, MI, reading


def test_the_readings_between_two_records_count() -> None:
    trend = {MEMORY: ((30.0, 900 * MI), (33.0, 1800 * MI), (20.0, 400 * MI))}
    assert fastest_falls([reading(0, 1800), replace(reading(40, 400), earlier=trend)]) == {MEMORY: 300 * MI}


def test_a_rise_another_boot_and_a_step_of_an_instant_are_no_rate() -> None:
    assert fastest_falls([reading(0, 400), reading(10, 1800)]) == {}
    assert fastest_falls([reading(500, 1800), reading(3, 400)]) == {}
    assert fastest_falls([reading(0, 1800), reading(600, 400)]) == {}, "too long ago"
    step = {MEMORY: ((1.9, 990 * MI),)}
    found = fastest_falls([reading(0, 1000), replace(reading(2, 980), earlier=step)])
    assert found == {MEMORY: 10 * MI}, "over two seconds"
