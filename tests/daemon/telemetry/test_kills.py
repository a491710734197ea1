"""The kills of the last hour are counted by pod, and bounded."""

from evictd.core.units.duration import HOUR, SECOND
from evictd.daemon.telemetry.kills import Killed, RecentKills
from evictd.observe.cgroups.kernel_kills import KernelKill


def test_kills_of_one_pod_are_counted_together_and_the_last_is_at_the_end() -> None:
    kills = RecentKills()
    web, daemon = KernelKill(where="default/web", uid="w", count=1), KernelKill(where="system.slice", count=2)
    kills.add([web, daemon], SECOND)
    kills.add([web], 2 * SECOND)
    of_daemon = Killed(where="system.slice", uid="", count=2, wall=SECOND)
    of_web = Killed(where="default/web", uid="w", count=2, wall=2 * SECOND)
    assert kills.lately(3 * SECOND) == (of_daemon, of_web)
    assert kills.lately(SECOND + HOUR) == (of_web,)
    assert kills.lately(2 * SECOND + HOUR) == ()


def test_a_node_that_kills_without_end_is_remembered_in_part() -> None:
    kills = RecentKills()
    kills.add([KernelKill(where=f"default/p{number}", uid=str(number), count=1) for number in range(60)], SECOND)
    assert [each.uid for each in kills.lately(SECOND)] == [str(number) for number in range(10, 60)]
