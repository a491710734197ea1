"""Values of the core as plain JSON values, by their declared types."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, NamedTuple

import pytest
from hypothesis import given

from evictd.codec.config.eviction_config import decode_eviction_config, encode_eviction_config
from evictd.codec.decision import DECISION_FORM, encode_decision, encode_finding
from evictd.codec.observation import decode_observation, encode_observation
from evictd.codec.plain import Form, View
from evictd.codec.state import STATE_FORM, decode_state, encode_state
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictionCause, EvictionReason, Wait
from evictd.core.model.observation import Observation
from evictd.core.model.signal import Signal
from evictd.core.model.state import State, Victim
from evictd.core.units.quantity import ZERO, Quantity, parse_quantity
from evictd.errors import InputError
from tests.laws.test_synchronize import play
from tests.strategies import stories


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    radius: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    edge_length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    title: str
    amount: Quantity = ZERO
    share: float = 0.0
    colours: frozenset[Colour] = frozenset()
    points: tuple[Point, ...] = ()
    shape: Circle | Square | Dot = Dot()
    other_shape: Circle | Square | None = None
    by_colour: Mapping[Colour, Point] = field(default_factory=dict)
    by_point: Mapping[Point, int] = field(default_factory=dict)
    owner: str | None = None
    in_color: bool = False
    anything: object = None


PLAIN = Form({Square: View(tag=("kind", "Rectangle"), keys={"edge_length": "edge"})})
FULL = Picture(
    title="\u00e9",
    amount=parse_quantity("1.50Gi"),
    share=0.1,
    colours=frozenset({Colour.RED, Colour.BLUE}),
    points=(Point(1), Point(2, 3)),
    shape=Square(edge_length=5),
    other_shape=Circle(radius=1),
    by_colour={Colour.RED: Point(4)},
    by_point={Point(1, 2): 3},
    owner="me",
    in_color=True,
    anything={"a": [1]},
)


def as_json(plain: Any) -> Any:
    return json.loads(json.dumps(plain))


def test_every_kind_of_value_survives() -> None:
    for picture in (Picture(title=""), FULL):
        assert PLAIN.decode(Picture, as_json(PLAIN.encode(Picture, picture)), "picture") == picture


def test_the_form_is_readable() -> None:
    assert PLAIN.encode(Picture, FULL) == {
        "title": "\u00e9",
        "amount": "1536Mi",
        "share": "0x1.999999999999ap-4",
        "colours": ["blue", "red"],
        "points": [{"x": 1, "y": 0}, {"x": 2, "y": 3}],
        "shape": {"kind": "Rectangle", "edge": 5},
        "otherShape": {"kind": "Circle", "radius": 1},
        "byColour": {"red": {"x": 4, "y": 0}},
        "byPoint": [[{"x": 1, "y": 2}, 3]],
        "owner": "me",
        "inColor": True,
        "anything": {"a": [1]},
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"title": 7}, "title: want a text, found int"),
        ({"title": "\ud800"}, "title: want a text"),
        ({"title": None}, "title: want a text, found NoneType"),
        ({"amount": "1GB"}, "amount: 1GB is not a quantity"),
        ({"amount": 1}, "amount: want a text, found int"),
        ({"share": "zero"}, "share: want a number in hexadecimal"),
        ({"share": 0.1}, "share: want a text"),
        ({"colours": ["green"]}, r"colours\[0\]: want a Colour, found green"),
        ({"colours": "red"}, "colours: want a list"),
        ({"points": [{"x": 1}, {"y": 1}]}, r"points\[1\].x: is missing"),
        ({"points": [{"x": True}]}, r"points\[0\].x: want an integer"),
        ({"points": [{"x": 1 << 63}]}, r"points\[0\].x: want an integer of 64 bits"),
        ({"points": [1]}, r"points\[0\]: want an object, found int"),
        ({"shape": {"radius": 1}}, "shape.kind: want one of Circle, Rectangle, Dot, found NoneType"),
        ({"shape": {"kind": "Square"}}, "shape.kind: want one of Circle, Rectangle, Dot, found Square"),
        ({"shape": {"kind": []}}, "shape.kind: "),
        ({"shape": None}, "shape: want an object, found NoneType"),
        ({"byColour": {"red": {}}}, r"byColour\[red\].x: is missing"),
        ({"byColour": {"green": {"x": 1}}}, r"byColour: want a Colour"),
        ({"byPoint": [[{"x": 1}]]}, "byPoint: want a list of two"),
        ({"byPoint": {}}, "byPoint: want a list"),
        ({"inColor": 1}, "inColor: want true or false"),
        ({"title": "", "owner": "x" * 1000 + "\n"}, ""),
    ],
)
def test_a_part_of_another_type_is_named(change: dict[str, Any], message: str) -> None:
    """In one line, with the path of the first."""
    plain = {**PLAIN.encode(Picture, FULL), **change}
    if not message:
        assert PLAIN.decode(Picture, plain, "picture").owner == change["owner"]
        return
    with pytest.raises(InputError, match=f"^picture: {message}") as caught:
        PLAIN.decode(Picture, plain, "picture")
    assert "\n" not in str(caught.value)


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(InputError, match=r"^picture: want an object, found list"):
        PLAIN.decode(Picture, [], "picture")


def test_a_field_with_a_default_may_be_missing_and_an_unknown_key_is_ignored() -> None:
    """Files of an earlier and of a later evictd are read."""
    assert PLAIN.decode(Picture, {"title": "x", "ofTomorrow": 1}, "picture") == Picture(title="x")
    with pytest.raises(InputError, match=r"^picture: title: is missing"):
        PLAIN.decode(Picture, {}, "picture")


def test_a_view_may_leave_fields_out_and_add_keys() -> None:
    view = View(apart=frozenset({"y"}), brief=frozenset({"x"}), also=lambda point: {"sum": point.x + point.y})
    form = Form({Point: view})
    assert form.encode(Point, Point(1, 2)) == {"x": 1, "sum": 3}
    assert form.decode(Point, {"x": 1, "sum": 3}, "point", y=2) == Point(1, 2)
    assert form.decode(Point, {"x": 1}, "point") == Point(1)


def with_a_new_field(kind: Any) -> Any:
    """Return the class as it would be with one more optional field."""
    later = type(kind.__name__, (kind,), {"__annotations__": {"held_until": int | None}, "held_until": None})
    return frozen(later) if "__slots__" in kind.__dict__ else dataclass(frozen=True, kw_only=True)(later)


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (STATE_FORM, State()),
        (STATE_FORM, Victim(uid="u", cause=Signal.PID_AVAILABLE)),
        (DECISION_FORM, Wait(nanoseconds=1)),
        (DECISION_FORM, EvictionCause(reason=EvictionReason.PRESSURE)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_optional_field_that_is_added_to_a_class_needs_no_code(form: Form, value: Any) -> None:
    """It is written and read by its declaration, and a file without it is read."""
    later = with_a_new_field(type(value))
    arguments = {each.name: getattr(value, each.name) for each in fields(value)}
    for held_until in (None, 7):
        made = later(**arguments, held_until=held_until)
        plain = as_json(form.encode(later, made))
        assert plain["heldUntil"] == held_until
        assert form.decode(later, plain, "value") == made
    assert form.decode(later, as_json(form.encode(type(value), value)), "value") == later(**arguments)


@given(stories())
def test_the_core_s_values_survive_and_are_written_with_every_field(
    story: tuple[EvictionConfig, list[tuple[int, Observation]]],
) -> None:
    config = story[0]
    assert decode_eviction_config(as_json(encode_eviction_config(config))) == config
    for _, state, observation, step in play(*story):
        assert decode_observation(as_json(encode_observation(observation))) == observation
        for each in (state, step.state):
            plain = as_json(encode_state(each))
            assert decode_state(plain) == each
            assert len(plain) == len(fields(each)) + 1
        as_json([encode_decision(decision) for decision in step.decisions])
        as_json([encode_finding(finding) for finding in step.findings])
