"""Searches for the tenant that costs its neighbours the most pods: `python -m tools.adversary --seconds 60 --seed 0`.

What a tenant costs is the number of neighbours that are evicted, or whose container the kernel kills for want of memory, for each
pod of the tenant; successors that an owner creates count as the pod that they replace. `tools.tenants` says what a tenant is.

The search is simulated annealing: a tenant is changed a little, and the changed one is taken if it costs more, or with a
probability that falls with time if it costs less. As long as a tenant costs nothing, and when nothing better was found for a
while, the search begins anew from a random one. The worst world is printed as a file that `evictd simulate` plays.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import yaml

from evictd.commands.inputs.source import own_config
from evictd.core.model.config import Policy
from evictd.world.account import OOM_KILLED, account_of
from evictd.world.file import decode_world
from evictd.world.loop import play
from evictd.world.oracle import IdealEnds
from tools.tenants import CAPACITY, FILES_OF_THE_NODE, NEIGHBOURS, Imagination, Tenant, world_document

PATIENCE = 40
"""Number of tenants that cost no more after which the search starts again from a random one."""
WARMTH = 2.0
"""How many neighbours less a changed tenant may cost at the beginning and be taken with a probability of 1 in e."""
COOLING = 20
"""Number of tenants after which `WARMTH` is halved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a tenant costs its neighbours."""

    evicted: int
    killed: int
    """Whose container the kernel has killed, and that were not evicted."""
    pods: int
    """Of the tenant."""

    @property
    def each(self) -> float:
        """Neighbours lost for each pod of the tenant."""
        return (self.evicted + self.killed) / self.pods


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """The tenant that costs the most of those that were tried."""

    tenant: Tenant
    cost: Cost
    tried: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The worlds that are searched: their length and the policy."""

    minutes: int
    policy: Policy = Policy.STANDARD
    host_path: bool = False
    """Whether the tenant may write to the node's own disk."""

    def cost_of(self, tenant: Tenant) -> Cost:
        """Play the world of a tenant and count what it costs."""
        file = decode_world(world_document(tenant, self.minutes))
        account = account_of(play(file.world, own_config(file, self.policy)), IdealEnds())
        lost = [each for each in account.losses if each.slot.startswith("default/neighbour")]
        evicted = {each.slot for each in lost if each.cause != OOM_KILLED}
        return Cost(evicted=len(evicted), killed=len({each.slot for each in lost} - evicted), pods=len(tenant))


def search(rules: Rules, seed: int, more: Callable[[int, Cost], bool]) -> Worst:
    """Return the worst tenant found while `more` says to go on, by the number tried and the highest cost."""
    random = Random(seed)  # noqa: S311 - a search is repeatable
    imagination = Imagination(
        random, tuple(each for each in CAPACITY if rules.host_path or each not in FILES_OF_THE_NODE)
    )
    tenant = imagination.tenant()
    cost = rules.cost_of(tenant)
    worst = Worst(tenant=tenant, cost=cost, tried=1)
    tried = begun = better_at = 1
    while more(tried, worst.cost):
        tried += 1
        anew = not cost.each or tried - better_at > PATIENCE
        other = imagination.tenant() if anew else imagination.changed(tenant)
        other_cost = rules.cost_of(other)
        rise = other_cost.each - cost.each
        warmth = WARMTH / (1 + (tried - begun) / COOLING)
        if anew:
            begun = better_at = tried
        elif rise > 0:
            better_at = tried
        if anew or random.random() < math.exp(min(rise / warmth, 0)):
            tenant, cost = other, other_cost
        if other_cost.each > worst.cost.each:
            worst = Worst(tenant=other, cost=other_cost, tried=tried)
    return replace(worst, tried=tried)


def main() -> int:
    """Search for as long as asked, and print the worst world."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long")
    parser.add_argument("--seed", type=int, default=0, help="which random choices")
    parser.add_argument("--minutes", type=int, default=20, help="how long each world lasts")
    parser.add_argument("--policy", choices=[each.value for each in Policy], default=Policy.STANDARD.value)
    parser.add_argument("--host-path", action="store_true", help="the tenant may write to the node's own disk")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the world to a file instead of printing it")
    args = parser.parse_args()
    rules = Rules(minutes=args.minutes, policy=Policy(args.policy), host_path=args.host_path)
    end = time.monotonic() + args.seconds  # noqa: TID251 - no part of the daemon
    worst = search(rules, args.seed, lambda _tried, _cost: time.monotonic() < end)  # noqa: TID251
    cost = worst.cost
    print(
        f"{worst.tried} tenants tried; the worst costs {cost.each:.2f} of {NEIGHBOURS} neighbours for each of its pods "
        f"({cost.pods}): {cost.evicted} evicted, {cost.killed} killed by the kernel",
        file=sys.stderr,
    )
    text = yaml.safe_dump(world_document(worst.tenant, args.minutes), sort_keys=False)
    if args.write is None:
        print(text, end="")
    else:
        args.write.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
