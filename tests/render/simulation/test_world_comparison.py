"""Checks a world under two configurations, side by side."""

import io
import re
from dataclasses import replace

from evictd.core.model.config import EvictionMethod, Policy
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.console import make_console
from evictd.render.simulation.worlds.world_comparison import print_worlds, worlds_document
from evictd.render.simulation.worlds.world_outcome import PlayedWorld
from evictd.render.simulation.worlds.world_view import world_document
from evictd.world.account import Verdict, account_of
from evictd.world.behaviours import Burst, Grow, Usage
from evictd.world.loop import play
from evictd.world.model import ApiServer, Disk, DisruptionBudget, HostUse, NodeSpec, Owner
from evictd.world.next_eviction import PlayedOn
from tests.playbook import config
from tests.render.played_worlds import played
from tests.world.worlds import hog, holder, quiet, world
from tools.incidents import incident_files, play_incident


def test_two_configurations_side_by_side_say_which_acts_first() -> None:
    story = world(hog(), *quiet(3))
    late = play(story, config(hard={"memory.available": "100Mi"}))
    account = replace(account_of(late), short_for={"memory.available<100Mi": 9 * SECOND})
    sides = (played(story), PlayedWorld(name="late", run=late, account=account))
    out = io.StringIO()
    print_worlds("w", sides, make_console(out, 200))
    assert "\nHard threshold met: memory.available<500Mi for 200ms with policy Standard, " in out.getvalue()
    assert "First action for memory.available: policy Standard, 8s earlier." in out.getvalue()
    document = worlds_document("w", [world_document("w", side) for side in sides])
    assert [each["configuration"] for each in document["configurations"]] == ["policy Standard", "late"]


def test_grace_periods_are_shown_where_the_sides_differ_in_them() -> None:
    """Both columns read alike, and one side gave its pod a second and the other a minute."""
    story = world(hog(rate=20 << 20), *quiet(3))
    soft = config(soft={"memory.available": ("500Mi", "1s")}, max_pod_grace_period_seconds=20)
    runs = [play(story, each) for each in (config(hard={"memory.available": "500Mi"}), soft)]
    sides = [PlayedWorld(name=f"side {len(run.cycles)}", run=run, account=account_of(run)) for run in runs]
    out = io.StringIO()
    print_worlds("w", sides, make_console(out, 300))
    assert "evict default/hog (grace period 1s) for memory.available" in out.getvalue()
    assert "evict default/hog (grace period 20s) for memory.available" in out.getvalue()
    out = io.StringIO()
    print_worlds("w", [sides[0], sides[0]], make_console(out, 300))
    assert "grace period" not in out.getvalue()


def test_a_refused_request_is_not_shown_as_an_eviction_beside_another_configuration() -> None:
    guard = ApiServer(budgets=(DisruptionBudget(pods=frozenset({"default/hog"})),))
    story = world(hog(rate=10 << 20), *quiet(3), api_server=guard, duration=400 * SECOND)
    sides = []
    for name, grace in (("soon", "1s"), ("late", "20s")):
        run = play(story, config(soft={"memory.available": ("1Gi", grace)}))
        sides.append(PlayedWorld(name=name, run=run, account=account_of(run)))
    out = io.StringIO()
    print_worlds("w", sides, make_console(out, 200))
    assert re.search(r"evict default/hog for memory.available: \S+ left: refused", out.getvalue())


def test_rounds_of_two_configurations_are_folded_as_well() -> None:
    owner = Owner(name="ReplicaSet/hog", tolerates=True)
    side = played(world(hog(rate=1 << 30, owner="ReplicaSet/hog"), owners=(owner,)))
    short, long = io.StringIO(), io.StringIO()
    print_worlds("w", (side, side), make_console(short))
    print_worlds("w", (side, side), make_console(long), everything=True)
    assert re.search(r"\.\.\. th(is line|ese \d lines) \d+ times more", re.sub(r"\s+", " ", short.getvalue()))
    assert len(short.getvalue().splitlines()) * 2 < len(long.getvalue().splitlines())


def test_actions_of_both_sides_at_times_that_are_shown_alike_are_one_row() -> None:
    """44 ms apart, each row had `-` on one side at the same time, as if that side had not acted."""
    story = world(hog(), *quiet(3))
    late = play(story, config(hard={"memory.available": "499Mi"}))
    sides = (played(story), PlayedWorld(name="late", run=late, account=account_of(late)))
    out = io.StringIO()
    print_worlds("w", sides, make_console(out, 200))
    rows = [line for line in out.getvalue().splitlines() if "evict default/hog" in line]
    assert [row.count("evict default/hog") for row in rows] == [2]


def test_the_first_action_is_said_for_each_signal() -> None:
    """A configuration that was earlier for memory and had no threshold for the disk was said to be earlier."""
    writer = hog(of=Usage.LOGS, rate=1 << 30, name="writer")
    story = world(hog(), writer, *quiet(3), duration=2 * MINUTE)
    sides = []
    for name, hard in (
        ("a", {"memory.available": "100Mi", "nodefs.available": "10%"}),
        ("b", {"memory.available": "1Gi"}),
    ):
        run = play(story, config(hard=hard))
        sides.append(PlayedWorld(name=name, run=run, account=account_of(run)))
    out = io.StringIO()
    print_worlds("w", sides, make_console(out, 300))
    assert re.findall(r"First action.*", out.getvalue()) == [
        "First action for memory.available: b, 18s earlier.",
        "First action for nodefs.available: a, at 1m30.1s; none with b.",
    ]


def test_one_that_does_nothing_is_named() -> None:
    story = world(hog(), *quiet(3))
    idle = play(story, config())
    out = io.StringIO()
    print_worlds(
        "w", (played(story), PlayedWorld(name="idle", run=idle, account=account_of(idle))), make_console(out, 200)
    )
    assert "No action: idle." in out.getvalue()


def test_a_side_on_which_a_disk_ran_out_says_so_in_its_headline() -> None:
    """A configuration without a threshold for the disk lost no pod and was never short, so it looked better."""
    story = world(hog(of=Usage.LOGS, rate=1 << 30), duration=3 * MINUTE)
    run = play(story, config(hard={"memory.available": "100Mi"}))
    out = io.StringIO()
    print_worlds("w", [PlayedWorld(name="none", run=run, account=account_of(run))] * 2, make_console(out, 200))
    assert "none: 0 pods lost, short for 0s, 0 OOM kills, nothing left of nodefs.available at 1m40s\n" in out.getvalue()


def test_no_end_of_a_pod_is_called_needed_where_the_disk_ran_out_all_the_same() -> None:
    """The same three evictions were `3 needed` with one threshold and `2 needed, 1 innocent` with the other."""
    node = NodeSpec(memory=4 << 30, nodefs=Disk(capacity=20 << 30))
    writer = HostUse(name="writer", behaviours=(Grow(of=Usage.HOST_PATH, rate=200 << 20),))
    small = [holder(f"web-{number}", 1 << 30, of=Usage.LOGS) for number in range(2)]
    run = play(world(*small, node=node, host=(writer,), duration=3 * MINUTE), config(hard={"nodefs.available": "20%"}))
    out = io.StringIO()
    account = account_of(run)
    print_worlds("w", [PlayedWorld(name="a", run=run, account=account)] * 2, make_console(out, 200))
    assert account.innocents == 2  # those that `expect.innocents` counts: the headline said 0 of them
    assert "a: 2 pods lost: 0 as the cause, 0 needed for relief, 2 innocent, short for" in out.getvalue()


def test_each_lost_pod_is_counted_once() -> None:
    """Of `3 pods lost` two were innocent and `3 of no use`: what the third one was, nothing said."""
    (path,) = (each for each in incident_files() if each.stem == "02-host-path-writer")
    story = play_incident(path, (Policy.STANDARD,))
    side = PlayedWorld(name="a", run=story.runs[Policy.STANDARD], account=story.accounts[Policy.STANDARD])
    out = io.StringIO()
    print_worlds("w", [side] * 2, make_console(out, 200))
    assert "a: 3 pods lost: 0 as the cause, 0 needed for relief, 2 innocent, 1 needed in vain, short" in out.getvalue()


def test_the_formula_of_each_side_explains_why_one_acts_later_and_a_leaving_pod_is_counted_apart() -> None:
    """Both were evicted at `500Mi left`, some seconds apart."""
    story = world(
        hog(rate=10 << 20), *quiet(3), node=NodeSpec(memory=4 << 30, unusable_memory=150 << 20), duration=MINUTE * 9
    )
    sides = [played(story), played(story, Policy.KUBELET)]
    out = io.StringIO()
    print_worlds("w", sides, make_console(out, 300))
    assert (
        "policy Kubelet counts the 150Mi that no process can allocate (`node.unusableMemory`) as available memory and policy "
        "Standard does not, so for policy Kubelet a threshold is met later."
    ) in out.getvalue()
    soft = config(soft={"memory.available": ("1Gi", "1s")})
    both = [play(story, replace(soft, policy=policy)) for policy in Policy]
    at_once = io.StringIO()
    print_worlds(
        "w",
        [PlayedWorld(name=run.config.policy.value, run=run, account=account_of(run)) for run in both],
        make_console(at_once, 300),
    )
    assert "First action for memory.available: both at the same time." in at_once.getvalue()
    assert "no process can allocate" not in at_once.getvalue(), "Standard lowers a soft threshold by as much"
    same = io.StringIO()
    print_worlds("w", [sides[0], sides[0]], make_console(same, 300))
    assert "no process can allocate" not in same.getvalue()
    (loss,) = sides[0].account.losses
    leaving = replace(sides[0].account, losses=(replace(loss, verdict=Verdict.LEAVING),))
    left = io.StringIO()
    print_worlds("w", [replace(sides[0], account=leaving)] * 2, make_console(left, 300))
    assert (
        "1 pod lost: 0 as the cause, 0 needed for relief, 0 innocent, 1 being deleted already, short for"
        in left.getvalue()
    )


def test_a_side_that_is_played_on_says_so_and_a_kill_is_no_eviction() -> None:
    calm = played(world(*quiet(3)))
    out = io.StringIO()
    after = PlayedOn(until=9 * MINUTE, at=7 * MINUTE, pod="default/hog")
    print_worlds("w", (calm, calm), make_console(out, 200), played_on=(after, None))
    assert out.getvalue().count("If it goes on like this: played on, default/hog is evicted first, at 7m0s.") == 1
    assert "at  policy" not in out.getvalue(), "no empty table"
    run = play(world(hog(), *quiet(3)), config())
    killed = PlayedWorld(name="none", run=run, account=account_of(run))
    print_worlds("w", (calm, killed), make_console(out, 200))
    assert (
        "none: 1 pod lost (1 killed by the kernel): 1 as the cause, 0 needed for relief, 0 innocent" in out.getvalue()
    )


def test_that_a_kubelet_ignores_budgets_is_said_where_the_world_has_one() -> None:
    """`Policy Kubelet decides as a kubelet does` stood below a refusal, which a kubelet never gets."""
    budgets = (DisruptionBudget(pods=frozenset({"default/hog"})),)
    text = "A kubelet ignores disruption budgets"
    for policy, server, said in (
        (Policy.KUBELET, ApiServer(budgets=budgets), True),
        (Policy.STANDARD, ApiServer(budgets=budgets), False),
        (Policy.KUBELET, ApiServer(budgets=budgets, termination=EvictionMethod.DELETE), False),
        (Policy.KUBELET, ApiServer(), False),
    ):
        made = world(hog(rate=20 << 20), api_server=server, duration=MINUTE)
        side = played(made, policy)
        out = io.StringIO()
        print_worlds("w", [side, side], make_console(out))
        assert (text in " ".join(out.getvalue().split())) is said


def test_the_headline_says_that_the_shortage_would_have_ended_by_itself() -> None:
    """Beside 0 pods lost, `1 needed for relief` of a burst that ends in time looked like the better outcome."""
    burst = Burst(of=Usage.MEMORY, amount=3 << 30, start=10 * SECOND, duration=MINUTE, rate=1 << 30)
    spike = replace(holder("spike", 1 << 20), behaviours=(burst,))
    story = world(spike, *quiet(3), duration=3 * MINUTE)
    run = play(story, config(hard={"memory.available": "1500Mi"}))
    side = PlayedWorld(name="high.yaml", run=run, account=account_of(run), unattended=play(story, config()))
    said = ", the shortage would have ended by itself, short for "
    for each, expected in ((side, True), (replace(side, unattended=None), False), (played(world(hog())), False)):
        out = io.StringIO()
        print_worlds("w", [each, each], make_console(out, 300))
        assert (said in out.getvalue()) is expected
        assert ("1 needed only for earlier relief, " in out.getvalue()) is expected
