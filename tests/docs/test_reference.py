"""The reference pages are those that the code gives; `make reference` writes them again."""

import json
from enum import Enum
from pathlib import Path

import pytest

from evictd.cli import COMMANDS, main
from evictd.config.file import load
from evictd.config.lint_model import Lint
from evictd.core.model.decision import EvictionReason
from evictd.core.model.finding import NoActionReason
from evictd.core.model.state import PhaseName
from evictd.render.history.history import EventKind
from evictd.render.incident.record.verdict import Need
from tools import json_documents, reference
from tools.json_meanings import MEANINGS
from tools.source import event_reasons, member_texts, metrics

ROOT = Path(__file__).parents[2]
KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.mark.parametrize("name", reference.PAGES)
def test_every_page_is_current(name: str) -> None:
    expected = reference.PAGES[name]()
    assert (reference.FOLDER / name).read_text(encoding="utf-8") == expected, "run `make reference`"


def test_no_other_page_is_left() -> None:
    assert {path.name for path in reference.FOLDER.glob("*.md")} == set(reference.PAGES)


def test_metrics_and_events_are_found_in_the_source() -> None:
    """The scan of the source finds counters, histograms and gauges, with their labels, and events by literal or constant."""
    found = {metric.name: metric for metric in metrics()}
    assert found["evictd_evictions_total"].labels == ("eviction_signal", "reason")
    assert found["evictd_signal_threshold"].labels == ("eviction_signal", "kind")
    assert {metric.type for metric in found.values()} >= {"counter", "gauge", "histogram"}
    assert all(metric.help for metric in found.values())
    assert found["evictd_no_action"].help.startswith("Thresholds for which no pod was evicted")
    helps = [metric.help for metric in found.values()]
    assert [text for text in helps if helps.count(text) > 1] == []
    assert {"Evicted", "EvictionThresholdMet", "FreeDiskSpaceFailed"} <= set(event_reasons())


def test_the_event_of_each_reason_that_asks_for_something_else_than_an_eviction_is_listed() -> None:
    """The alert EvictdEvictionsDoNotHelp names such an event."""
    notices = {
        "ProtectedCulprit",
        "UnmeasuredCulprit",
        "EvictionsDoNotHelp",
        "EvictionLimitReached",
        "ThresholdNeverClear",
    }
    events = reference.conditions().partition("\n## Events\n")[2].partition("\n## ")[0]
    assert {f"| `{name}` | Warning | the node |" for name in notices} <= set(events.splitlines())


def test_only_a_command_that_takes_every_configuration_flag_refers_to_them() -> None:
    """`cleanup --config` and `simulate --eviction-hard` are refused."""
    sections = reference.commands().split("\n## evictd ")[1:]
    shared = {text.split("\n", 1)[0] for text in sections if "flags.md" in text}
    assert shared == {"run", "check", "explain", "capture"}
    assert len(sections) == len(COMMANDS)
    (simulate, replay, cleanup) = (
        text for text in sections if text.split("\n", 1)[0] in {"simulate", "replay", "cleanup"}
    )
    assert "| `--config FILE` |" in simulate
    assert "| `--config FILE` |" in replay
    assert "| `--kubeconfig PATH` |" in cleanup


def test_the_commands_show_no_name_of_the_programs_own() -> None:
    """`--address FLAG_LISTEN_ADDRESS` and the default `()` stood there."""
    page = reference.commands()
    assert "`()`" not in page
    assert "FLAG_" not in page


@pytest.mark.parametrize("kind", [Lint, NoActionReason, EvictionReason, EventKind, PhaseName, Need])
def test_every_member_is_described(kind: type[Enum]) -> None:
    """An empty cell of the reference is a missing docstring below the member."""
    assert [value for value, text in member_texts(kind).items() if not text] == []


@pytest.mark.parametrize("kind", json_documents.DOCUMENTS)
def test_each_key_of_json_is_described(kind: str) -> None:
    """`avoidedBy`, `evictionsByCause`, `graceLeftSeconds` and others stood nowhere."""
    assert set(MEANINGS[kind]) == set(json_documents.keys_of(kind))


def test_each_key_of_a_world_is_found_in_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    """What the page names is what a command writes."""
    main(["simulate", str(ROOT / "config/worlds/job-beside-a-database.yaml"), "--output", "json"])
    written = json.loads(capsys.readouterr().out)
    assert set(written) - {"apiVersion", "kind"} == {
        key for key in json_documents.keys_of("WorldRun") if "[" not in key and "." not in key
    }


@pytest.mark.parametrize("scenario", ["protected-culprit", "prefer-and-avoid", "missing-stats"])
def test_each_key_of_an_explanation_is_described(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The page had the documents of all commands but `explain`."""
    assert main(["explain", str(ROOT / f"config/scenarios/{scenario}.yaml"), "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    named = set(json_documents.keys_of("Explanation"))
    assert document["kind"] == "Explanation"
    assert set(document) - {"apiVersion", "kind"} == {key for key in named if "[" not in key}
    (queue, *_) = document["queues"]
    assert {f"queues[].{key}" for key in queue} <= named
    assert {f"queues[].rows[].{key}" for row in queue["rows"] for key in row} <= named


def test_each_command_with_json_output_is_on_the_page() -> None:
    writing = {name for name in COMMANDS if "--output" in options(name) and "json" in options(name)}
    assert writing == {each.command.split()[0] for each in json_documents.DOCUMENTS.values()}


def options(name: str) -> str:
    """Return what the reference says of a command."""
    return reference.commands().partition(f"\n## evictd {name}\n")[2].partition("\n## evictd ")[0]


def test_each_event_has_its_type() -> None:
    """`Evicted` stood there as of type None."""
    types = event_reasons()
    assert {types["Evicted"], types["EvictionThresholdMet"]} == {"Warning"}
    assert set(types.values()) <= {"Normal", "Warning"}


@pytest.mark.parametrize(
    ("field", "default", "other"),
    [
        ("maxPods", "110", "50"),
        ("failCgroupV1", "true", "false"),
        ("registerNode", "true", "false"),
        ("oomScoreAdj", "-999", "-998"),
    ],
)
def test_the_page_says_of_which_fields_without_effect_the_check_warns(
    tmp_path: Path, field: str, default: str, other: str
) -> None:
    """It said of each that is set, and `check` is silent about a default."""
    page = (reference.FOLDER / "kubelet.md").read_text(encoding="utf-8")
    assert "`evictd check` warns about each whose value is not the kubelet's default." in page
    assert f"| `{field}` |" in page.partition("## Accepted without effect")[2].partition("## ")[0]
    path = tmp_path / "config.yaml"
    for value, named in ((default, ()), (other, (field,))):
        path.write_text(f"{KUBELET}{field}: {value}\n")
        assert load(path).without_effect == named
