"""What people see: readable at 80 and 120 columns, with and without colour, and the same every time."""

import io
import re
from dataclasses import replace

import pytest

from evictd.codec.scenario import decode_scenario
from evictd.commands.inputs.source import own_config
from evictd.core.model.config import Policy
from evictd.core.model.finding import NoAction, NoActionReason, ThresholdFinding
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin
from evictd.core.units.quantity import of_bytes
from evictd.render.console import make_console
from evictd.render.node_view import node_view
from evictd.render.simulation.tables import DEDUCED, TableView, print_explanation, print_simulation
from evictd.simulation import simulate
from tests.parity.compare import VECTORS
from tests.parity.evaluate import read_lines
from tests.stories import GI, SCENARIOS, check_golden, memory_step, memory_story, played, pod

NAMES = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))


def shown(name: str, width: int, policy: Policy | None = None, *, everything: bool = False) -> str:
    scenario, cycles = played(name, policy)
    out = io.StringIO()
    view = TableView(config=own_config(scenario, policy), everything=everything)
    print_simulation(scenario.name, cycles, view, make_console(out, width))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def test_what_is_not_observed_goes_on_below_its_text() -> None:
    """At 80 columns the list went on at the margin."""
    scenario, cycles = played("memory-with-priorities")
    turn = cycles[-1].turns[-1]
    view = node_view("n", own_config(scenario), turn.observation, cycles[-1].state, turn.step.findings, now=0)
    out = io.StringIO()
    explained = replace(view, unobserved=dict.fromkeys(Signal, False))
    print_explanation(explained, TableView(config=own_config(scenario)), make_console(out, 80))
    lines = out.getvalue().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("- no observation of "))
    assert lines[at + 1].startswith("  ")
    assert "available" in lines[at + 1]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(len(line) for line in shown(name, width).splitlines()) <= width


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("memory-with-priorities", None),
        ("disk-reclaim-then-evict", None),
        ("disk-reclaim-then-evict", Policy.KUBELET),
        ("missing-stats", None),
        ("missing-stats", Policy.KUBELET),
        ("protected-culprit", None),
        ("protected-culprit", Policy.KUBELET),
        ("transition-period", None),
        ("disk-waits-for-measurement", None),
        ("disk-waits-for-measurement", Policy.KUBELET),
        ("budget-refusal", None),
        ("owner-backoff", None),
        ("owner-backoff", Policy.KUBELET),
        ("prefer-and-avoid", None),
        ("thrashing", None),
        ("swap", None),
    ],
)
def test_a_story_is_told_as_before(name: str, policy: Policy | None) -> None:
    """The whole text, reasons included, is compared."""
    suffix = "" if policy is None else f".{policy.value.lower()}"
    check_golden(f"{name}{suffix}.txt", shown(name, 80, policy))


def test_colour_adds_nothing_that_words_do_not_say() -> None:
    """With the escapes taken out, a coloured story is the plain one."""
    from rich.console import Console
    from rich.text import Text

    scenario, cycles = played("memory-with-priorities")
    out = io.StringIO()
    coloured = Console(file=out, width=80, force_terminal=True, color_system="truecolor", highlight=False, markup=False)
    print_simulation(scenario.name, cycles, TableView(config=own_config(scenario)), coloured)
    assert "\x1b[" in out.getvalue()
    plain = "\n".join(Text.from_ansi(line).plain.rstrip() for line in out.getvalue().splitlines()) + "\n"
    assert plain == shown("memory-with-priorities", 80)


@pytest.mark.slow
def test_a_big_node_does_not_print_every_pod() -> None:
    names = [f"pod-{number:04}" for number in range(2000)]
    scenario = memory_story(
        [memory_step("0s", 100 * 2**20, dict.fromkeys(names, GI // 2000))], [pod(name) for name in names]
    )
    config = own_config(scenario)
    cycles = tuple(simulate(scenario, config))

    def lines(*, everything: bool) -> list[str]:
        out = io.StringIO()
        print_simulation("big", cycles, TableView(config=config, everything=everything), make_console(out, 100))
        return out.getvalue().splitlines()

    short = lines(everything=False)
    assert len(short) < 30
    assert any("and 1997 more (--all)" in line for line in short)
    assert len(lines(everything=True)) > 2000


def test_markup_in_names_is_text() -> None:
    """A pod may be called anything; nothing of it is obeyed."""
    scenario = memory_story([memory_step("0s", GI // 4, {"[red]x[/red]": 7 * GI})], [pod("[red]x[/red]")])
    out = io.StringIO()
    config = own_config(scenario)
    print_simulation("[bold]s", tuple(simulate(scenario, config)), TableView(config=config), make_console(out, 100))
    assert "default/[red]x[/red]" in out.getvalue()
    assert out.getvalue().startswith("[bold]s:")


def test_derived_thresholds_are_named_once_unless_everything_is_asked_for() -> None:
    """They repeat their source in every step."""
    short, everything = (shown("disk-reclaim-suffices", 80, everything=each) for each in (False, True))
    assert short.count("containerfs.available") == short.count("derived, the same: containerfs.available") == 1
    assert "derived" not in everything
    assert everything.count("containerfs.available") > 2


def test_a_derived_threshold_with_amounts_of_its_own_is_shown_where_it_is_met() -> None:
    """`allocatableMemory.available` is derived from `memory.available`, and may be met alone."""
    scenario, cycles = played("ten-minutes", None)
    first, second = cycles[:2]
    (turn,) = second.turns
    source = next(each for each in turn.step.findings if isinstance(each, ThresholdFinding) and each.threshold.hard)
    threshold = replace(source.threshold, signal=Signal.ALLOCATABLE_MEMORY_AVAILABLE, origin=Origin.DERIVED)
    met = replace(source, threshold=threshold, available=of_bytes(5 << 20), met=True)
    waits = NoAction(why=NoActionReason.NOTHING_EVICTABLE, threshold=threshold)
    step = replace(turn.step, findings=(*turn.step.findings, met, waits))
    out = io.StringIO()
    view = TableView(config=own_config(scenario))
    print_simulation("s", (first, replace(second, turns=(replace(turn, step=step),))), view, make_console(out, 80))
    step_text = out.getvalue().partition("at 20s")[2].partition("conclusion")[0]
    assert re.search(r"allocatableMemory\.available +5Mi .* hard: met", step_text)
    assert "allocatableMemory.available: no active pod is left that may be evicted" in step_text
    assert "the same" not in step_text


def test_a_step_shows_the_thresholds_that_are_met_and_of_the_others_the_nearest() -> None:
    text = shown("ten-minutes", 80)
    assert len(text.splitlines()) < 120
    assert len(shown("ten-minutes", 80, everything=True).splitlines()) > 250
    step = text.partition("at 7m0s")[2].partition("\n\n")[0]
    assert "soft 1m0s: met, 40s left" in step
    assert "  of the others nearest: memory.available, 361Mi above its hard threshold" in step
    assert "nodefs.available" not in step


@pytest.mark.slow
def test_every_recorded_story_can_be_told() -> None:
    """The kubelet's own unit suite, odd names and missing numbers included, under both policies."""
    for document in read_lines(VECTORS / "kubelet-1.36-unit-suite.jsonl.gz"):
        if document["kind"] != "scenario":
            continue
        document.pop("expect")
        scenario = decode_scenario(document)
        for policy in Policy:
            config = own_config(scenario, policy)
            out = io.StringIO()
            view = TableView(config=config, everything=True)
            print_simulation(scenario.name, tuple(simulate(scenario, config)), view, make_console(out, 80))
            lines = out.getvalue().splitlines()
            assert len([line for line in lines if line.startswith("at ")]) == len(scenario.steps)
            assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("width", [80, 100, 4096])
def test_a_name_is_never_split(width: int) -> None:
    """A name on two lines cannot be copied, and `grep` does not find it."""
    name = "a-deployment-with-a-rather-long-name-5d4f9c7b6d-x2x7z"
    scenario = memory_story([memory_step("0s", GI // 4, {name: 7 * GI})], [pod(name)])
    out = io.StringIO()
    config = own_config(scenario)
    print_simulation("s", tuple(simulate(scenario, config)), TableView(config=config), make_console(out, width))
    assert f"1  default/{name}" in out.getvalue()
    assert "uses 7Gi, requests none" in out.getvalue()


def test_a_priority_and_a_request_that_were_deduced_are_shown_as_such() -> None:
    """They have decided the order, so a bare question mark in their place explained nothing."""
    scenario, cycles = played("memory-with-priorities", None)
    turn, config = cycles[-1].turns[-1], own_config(scenario)
    unknown = tuple(replace(each, spec_known=False) for each in turn.observation.pods)
    explained = node_view("x", config, replace(turn.observation, pods=unknown), turn.step.state, (), now=cycles[-1].at)
    out = io.StringIO()
    print_explanation(explained, TableView(config=config), make_console(out, 120))
    lines = out.getvalue().splitlines()
    (row,) = (line for line in lines if line.strip().startswith("1  default/shop"))
    assert re.search(r" 1000\?  .* 1Gi\?  ", row), row
    assert DEDUCED in lines


def test_a_reason_goes_on_below_its_begin_on_a_narrow_terminal() -> None:
    """It went on left of its first line."""
    lines = shown("ten-minutes", 80).splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip() == "1  batch/crawler")
    assert lines[first + 1].startswith("          priority 0, usage 37.3Gi")
    assert lines[first + 2].startswith("          while batch/training requests none")
