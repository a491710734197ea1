"""Checks that each field of a world file says what it means, for the generated reference."""

import msgspec
import pytest
from msgspec import inspect

from evictd.codec import world_fields
from evictd.codec.world_fields import WorldFields

KINDS = [kind for kind in vars(world_fields).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]


@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_each_field_has_a_description_and_a_default(kind: type[msgspec.Struct]) -> None:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        assert isinstance(field.type, inspect.Metadata), field.name
        assert (field.type.extra_json_schema or {}).get("description"), field.name
    kind()


def test_an_empty_world_has_a_node() -> None:
    assert WorldFields().node.memory == 8 << 30
