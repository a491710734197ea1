"""Finds what the host of a world file holds of memory beyond what there is: no such node can run."""

from evictd.codec.world_fields import WorldFields
from evictd.world.behaviours import ANONYMOUS

_KINDS = {each.value for each in ANONYMOUS}


def too_much_held(fields: WorldFields) -> tuple[str, int] | None:
    """Return place and amount of the hold with which the host has more than all memory and swap; `None` if it fits."""
    left = fields.node.memory + fields.node.swap
    for index, part in enumerate(fields.host):
        for number, each in enumerate(part.behaviours):
            if each.hold is not None and each.hold.of in _KINDS:
                left -= each.hold.amount
                if left < 0:
                    return f"host[{index}].behaviours[{number}].hold.amount", each.hold.amount
    return None
