"""Checks that a host that holds more memory than there is is found."""

import pytest

from evictd.codec.strict import decode
from evictd.codec.world_fields import WorldFields
from evictd.world.host_memory import too_much_held


def _hold(of: str, amount: str) -> dict[str, object]:
    return {"hold": {"of": of, "amount": amount}}


@pytest.mark.parametrize(
    ("swap", "holds", "found"),
    [
        ("0", [("memory", "6Gi")], ("host[0].behaviours[0].hold.amount", 6 << 30)),
        ("2Gi", [("memory", "6Gi")], None),
        ("0", [("memory", "3Gi"), ("memory", "2Gi")], ("host[1].behaviours[0].hold.amount", 2 << 30)),
        ("0", [("memory", "4Gi"), ("hostPath", "9Gi")], None),
    ],
)
def test_the_hold_that_no_longer_fits_is_named(
    swap: str, holds: list[tuple[str, str]], found: tuple[str, int] | None
) -> None:
    host = [{"name": f"part-{number}", "behaviours": [_hold(*each)]} for number, each in enumerate(holds)]
    fields, problems = decode(WorldFields, {"kind": "World", "node": {"memory": "4Gi", "swap": swap}, "host": host})
    assert not problems
    assert too_much_held(fields) == found
