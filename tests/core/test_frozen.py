import copy
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any, get_type_hints

import pytest

from evictd.core.frozen import frozen, frozen_by_position

standard = dataclass(frozen=True, slots=True, kw_only=True)


@frozen
class Point:
    x: int
    y: int = 2
    labels: Mapping[str, str] = field(default_factory=dict)
    note: str = field(default="", compare=False, repr=False)
    total: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.x + self.y)


@frozen
class Deep(Point):
    z: int


@frozen
class Empty:
    pass


def like_the_standard_one(decorate: Any) -> Any:
    @decorate
    class Both:
        x: int
        y: tuple[int, ...] = ()
        note: str = field(default="", compare=False, repr=False)

    return Both


OURS, STANDARD = like_the_standard_one(frozen), like_the_standard_one(standard)


@pytest.mark.parametrize("make", [OURS, STANDARD], ids=["ours", "standard"])
def test_it_does_what_the_standard_decorator_does(make: Any) -> None:
    one = make(x=1, note="a")
    assert one == make(x=1, note="b") != make(x=2)
    assert hash(one) == hash(make(x=1, note="b"))
    assert one != (1, ())
    assert repr(one).endswith("Both(x=1, y=())")
    assert make.__match_args__ == ()
    assert [each.name for each in fields(make)] == ["x", "y", "note"]
    assert not hasattr(one, "__dict__")
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'x'"):
        make()
    with pytest.raises(TypeError, match="positional"):
        make(1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        make(x=1, z=1)
    with pytest.raises(FrozenInstanceError, match="'x'"):
        one.x = 2
    with pytest.raises(FrozenInstanceError, match="'x'"):
        del one.x
    assert one.x == 1


def test_a_field_has_a_default_a_factory_or_is_set_afterwards() -> None:
    point = Point(x=1)
    assert (point.y, point.labels, point.total) == (2, {}, 3)
    assert Point(x=1).labels is not point.labels
    assert replace(point, x=5).total == 7
    assert repr(point) == "Point(x=1, y=2, labels={}, total=3)"


def test_a_value_is_copied_and_pickled() -> None:
    point = Point(x=1, labels={"a": "b"})
    for each in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert each == point
        assert each.total == point.total
    assert asdict(Deep(x=1, z=3))["z"] == 3


def test_a_class_may_extend_another_or_have_no_fields() -> None:
    assert Deep(x=1, z=3) == Deep(x=1, z=3) != Deep(x=1, z=4)
    assert Deep(x=1, z=3) != Point(x=1)
    assert {Empty(), Empty()} == {Empty()}
    assert repr(Empty()) == "Empty()"


def test_a_class_keeps_the_methods_that_it_defines() -> None:
    @frozen
    class Named:
        name: str

        def __repr__(self) -> str:
            return self.name

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Named) and self.name.lower() == other.name.lower()

        def __hash__(self) -> int:
            return hash(self.name.lower())

    assert repr(Named(name="a")) == "a"
    assert {Named(name="a"), Named(name="A")} == {Named(name="a")}


def test_its_types_are_those_of_the_arguments() -> None:
    assert get_type_hints(OURS.__init__) == {"x": int, "y": tuple[int, ...], "note": str}


def test_fields_by_position_are_allowed_where_the_class_says_so() -> None:
    @frozen_by_position
    class Pair:
        x: int
        y: int = 2

    assert (Pair(1), Pair(1, 3), Pair(x=1)) == (Pair(1, 2), Pair(1, y=3), Pair(1))
    with pytest.raises(FrozenInstanceError):
        Pair(1).x = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        Point(1)  # type: ignore[call-arg]
