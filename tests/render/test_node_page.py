"""The page at `/`: its words and its escaping."""

import html.parser
from collections.abc import Callable
from dataclasses import replace

from evictd.config.settings import Settings
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import signal_observations
from evictd.core.model.pod import Pod
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.configuration import Configuration
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.pages import Pages
from evictd.daemon.telemetry.snapshot import Decided, LatestSnapshot, Snapshot
from evictd.daemon.telemetry.trends import Trends, advanced
from evictd.render.node_page import asset, headline, why_nothing
from evictd.render.sentences import decision_text, kind_of
from tests.daemon.world import CONFIG, GI, HOG, STATIC, WALL, WEB, observe, pod, uses

HOSTILE = '<script>alert("1")</script>\u202e\x1b[31m'
START = 10_000 * SECOND


def play(amounts: list[int], pods: tuple[Pod, ...] = (HOG, WEB, STATIC)) -> Snapshot:
    """A node whose available memory takes these values, a minute apart; the snapshot of the last one."""
    state, trends, recent = State(), Trends(), []
    step, seen, at = None, observe(amounts[0], START, pods=pods), START
    for number, available in enumerate(amounts):
        at = START + number * MINUTE // 2
        seen = observe(available, at, pods=pods)
        stats = {each.uid: uses(each, (200 - 3 * index) * GI // 40, at) for index, each in enumerate(pods)}
        seen = replace(seen, pod_stats=stats)
        step = synchronize(state, seen, CONFIG, at)
        state = step.state
        assert seen.node is not None
        trends = advanced(trends, signal_observations(seen.node), state.node_conditions, now=at, wall=WALL + at - START)
        recent += [
            Decided(wall=WALL + at - START, kind=kind_of(each), text=decision_text(each))
            for each in step.decisions
            if kind_of(each) not in {"Wait", "RecordEvent"}
        ]
    assert step is not None
    return Snapshot(
        at=at, wall=WALL + at - START, config=CONFIG, state=state, observation=seen, findings=step.findings,
        recent=tuple(recent), trends=trends, version="1.2.3",
    )  # fmt: skip


def calm() -> Snapshot:
    return play([(6 * GI) - (number % 7) * GI // 8 for number in range(90)])


def pressed() -> Snapshot:
    return play([*(6 * GI - number * GI // 24 for number in range(90)), GI // 2])


def crowded() -> Snapshot:
    pods = tuple(
        pod(
            f"worker-with-a-long-name-{number}-7d4f9c8b6d-x2x{number:02}",
            request=(number % 5) * GI // 4,
            priority=number % 3,
        )
        for number in range(110)
    )
    return play([4 * GI - number * GI // 64 for number in range(127)], pods)


def pages(snapshot: Snapshot) -> dict[str, Callable[[], object]]:
    board = LatestSnapshot()
    board.latest = snapshot
    settings = Settings(eviction=CONFIG)
    made = Pages(board, Metrics(board), Configuration(settings, lambda: settings), lambda: snapshot.at + 2 * SECOND)
    return dict(made.by_path())


def page(snapshot: Snapshot) -> str:
    answer = pages(snapshot)["/"]()
    body: bytes = answer.body  # type: ignore[attr-defined]
    return body.decode()


def test_a_calm_node_says_so_and_how_near_the_next_threshold_is() -> None:
    text = page(calm())
    assert "This node is calm: no threshold is met and no pod is being evicted." in text
    assert "no threshold is met; nearest is" in text
    assert "Next: <strong>default/hog</strong>" in text
    assert "never evicted: static pod" in text


def test_a_node_under_pressure_shows_its_victim_and_the_decisions_with_their_numbers() -> None:
    text = page(pressed())
    assert "default/hog is being evicted." in text
    assert "Leaving pods" in text
    assert "evict default/hog (grace period" in text
    assert "MemoryPressure</strong> True, since 2023-11-14" in text
    assert "Why no pod is being evicted" not in text


def test_a_signal_that_falls_says_when_its_threshold_is_met() -> None:
    text = page(play([6 * GI - number * GI // 16 for number in range(40)]))
    assert "at the present rate" in text
    assert "falls by" in text
    assert "<polyline" in text


def test_every_pod_of_a_full_node_is_there() -> None:
    text = page(crowded())
    assert all(f"-x2x{number:02}" in text for number in range(110))
    assert "the other 105 pods by memory" in text


def test_hostile_names_are_text() -> None:
    """A name in the API is checked; one in a manifest, a problem or a runtime's message is not."""
    text = page(play([GI // 2], (pod(HOSTILE), WEB)))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert "\x1b" not in text


def test_no_style_script_or_handler_is_inline_and_nothing_comes_from_elsewhere() -> None:
    found: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            for name, value in attributes:
                if name == "style" or name.startswith("on"):
                    found.append(f"{tag} {name}")
                if name in {"src", "href"} and ("//" in (value or "") or (value or "").startswith("data:")):
                    found.append(f"{tag} {value}")
            if tag == "style" or (tag == "script" and not dict(attributes).get("src")):
                found.append(tag)

    Reader().feed(page(pressed()))
    assert found == []
    assert b"http" not in asset("page.css") + asset("page.js")


def test_a_node_that_is_not_seen_is_no_calm_one() -> None:
    snapshot = calm()
    blind = replace(snapshot, observation=replace(snapshot.observation, node=None))
    assert "evictd does not see this node" in page(blind)


def test_a_grace_period_and_a_transition_period_are_told_apart() -> None:
    from evictd.daemon.telemetry.status_page import status_document

    soft = play([6 * GI, int(1.5 * GI)])
    status = status_document(soft, soft.at)
    assert headline(status).text == (
        "memory.available is below its soft threshold; a pod is evicted in 1m30s unless it recovers."
    )
    assert "memory.available: the soft threshold acts in 1m30s" in tuple(why_nothing(status, {"notes": ()}))
    over = play([6 * GI, int(1.5 * GI), 6 * GI])
    assert "No threshold is met; MemoryPressure is reported for 4m" in headline(status_document(over, over.at)).text


def test_a_threshold_that_is_near_is_no_calm() -> None:
    from evictd.daemon.telemetry.status_page import status_document

    falling = play([5 * GI, 9 * GI // 2, 4 * GI])
    near = headline(status_document(falling, falling.at))
    assert near.level == "soft"
    assert near.text == (
        "memory.available reaches its soft threshold 2Gi in 2m0s at the present rate. default/hog would be evicted first."
    )
    slow = play([6 * GI, 6 * GI - GI // 64, 6 * GI - GI // 32])
    assert headline(status_document(slow, slow.at)).level == "calm"


def test_a_rate_of_a_count_says_what_is_counted() -> None:
    from evictd.core.model.signal import Signal
    from evictd.render.node_page import _rate

    assert _rate(274, Signal.NODEFS_INODES_FREE) == "falls by 274 inodes a second"
    assert _rate(-3, Signal.PID_AVAILABLE) == "rises by 3 processes a second"
    assert _rate(GI, Signal.MEMORY_AVAILABLE) == "falls by 1Gi a second"
