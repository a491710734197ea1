"""Whether growth is little beside what is missing."""

from evictd.render.little_growth import is_little_growth


def test_less_than_a_tenth_is_little() -> None:
    assert is_little_growth(9, 100)
    assert not is_little_growth(10, 100)
    assert not is_little_growth(0, 0)
