"""The alert rules by Prometheus' own promtool, and the dashboard against the metrics that exist."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import yaml

from evictd.commands.explain_alert import runbooks
from evictd.core.eviction.draft import NORMAL, notice_of
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from tests.playbook import threshold
from tests.prometheus import program
from tools.source import metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
HELPLESS = "EvictdEvictionCannotHelp"
CASES = sorted(Path(__file__).parent.glob("alerts_*test.yaml"))


def test_recorded_metrics_raise_the_alerts_that_are_about_them(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "chart" / "evictd" / "files" / "alerts.yaml", tmp_path)
    for path in CASES:
        shutil.copy(path, tmp_path)
    for arguments in (["check", "rules", "alerts.yaml"], ["test", "rules", *(path.name for path in CASES)]):
        done = subprocess.run(
            [str(program("promtool")), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_in_the_test_of_promtool() -> None:
    rules = (DEPLOY / "chart" / "evictd" / "files" / "alerts.yaml").read_text(encoding="utf-8")
    cases = "".join(path.read_text(encoding="utf-8") for path in CASES)
    for name in re.findall(r"alert: (\w+)", rules):
        assert cases.count(name) >= 2, name  # once in what raises nothing, once where it is raised


def test_a_run_book_has_the_severity_of_its_alert_and_after_how_long_it_is_raised() -> None:
    """Who is paged by what could be read in the rules only."""
    rules = (DEPLOY / "chart" / "evictd" / "files" / "alerts.yaml").read_text(encoding="utf-8")
    books = runbooks((DEPLOY.parent / "docs" / "alerts.md").read_text(encoding="utf-8"))
    for rule in rules.split("- alert: ")[1:]:
        severity, after = re.search(r"severity: (\w+)", rule), re.search(r" for: (\w+)", rule)
        assert severity is not None
        raised = "at once" if after is None else f"after {after[1]}"
        assert f"\nSeverity. {severity[1]}, {raised}.\n" in books[rule.split()[0]]


def test_the_table_of_severities_is_that_of_the_rules() -> None:
    """Which alerts page a person could be read one by one only."""
    rules = (DEPLOY / "chart" / "evictd" / "files" / "alerts.yaml").read_text(encoding="utf-8")
    given = re.findall(r"alert: (\w+)$.*?severity: (\w+)", rules, re.MULTILINE | re.DOTALL)
    page = (DEPLOY.parent / "docs" / "alerts.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\w+) \| (.*) \|$", page.partition("| Severity | Alerts |")[2], re.MULTILINE))
    assert rows.pop("warning") == "all others"
    for severity, cell in rows.items():
        assert set(re.findall(r"\[(\w+)\]", cell)) == {name for name, each in given if each == severity}
    assert {*rows, "warning"} == {severity for _, severity in given}


def test_every_reason_not_to_evict_that_is_a_warning_has_an_alert_whose_run_book_names_it() -> None:
    rules = (DEPLOY / "chart" / "evictd" / "files" / "alerts.yaml").read_text(encoding="utf-8")
    found = dict(re.findall(r"alert: (\w+)\n +expr: .*evictd_no_action\{reason=~?\"([\w|]+)\"\}", rules))
    alerts = {reason: name for name, reasons in found.items() for reason in reasons.split("|")}
    for why in NoActionReason:
        finding = NoAction(why=why, threshold=threshold("memory.available", "1Gi"))
        event = notice_of(finding, None)
        assert why.value in alerts or event is None or event.type == NORMAL, why
    several = {reason: name for reason, name in alerts.items() if "|" in found[name]}
    book = (DEPLOY.parent / "docs" / "alerts.md").read_text(encoding="utf-8")
    for reason, name in several.items():
        (section,) = re.findall(rf"\n## {name}\n(.*?)\n## ", book, re.DOTALL)
        assert f"`{reason}`:" in section, reason


ALERTED_OTHERWISE = {
    NoActionReason.LAYOUT_UNKNOWN: "EvictdSignalUnavailable",
    NoActionReason.PODS_UNKNOWN: "EvictdCannotPerform",
}
"""Reasons of a node that is not read, each with the alert of what is not read."""
NO_ALERT = {
    NoActionReason.RECLAIM_SUFFICED,
    NoActionReason.WAITING_FOR_VICTIM,
    NoActionReason.WAITING_FOR_RELEASE,
    NoActionReason.NOT_SHORT_OF_MEMORY,
    NoActionReason.NO_RANK_FUNCTION,
    NoActionReason.NO_STATS,
}
"""Reasons of the normal course; the last two are of scenarios, the daemon has a ranking and a reading in each cycle."""


def test_each_other_reason_for_which_no_pod_is_evicted_raises_one_alert(tmp_path: Path) -> None:
    """On a node without a pod, or with pods of an API server that evictd does not ask, a due threshold raised none."""
    shutil.copy(DEPLOY / "chart" / "evictd" / "files" / "alerts.yaml", tmp_path)
    own = {
        NoActionReason.EVICTIONS_DO_NOT_HELP: "EvictdEvictionsDoNotHelp",
        NoActionReason.THRESHOLD_NEVER_CLEAR: "EvictdThresholdNeverClear",
        NoActionReason.UNMEASURED_CULPRIT: "EvictdCulpritNotMeasured",
    }
    silent = {*ALERTED_OTHERWISE, *NO_ALERT}
    raised = [
        f'{{node="{why.value}",alertname="{own.get(why, HELPLESS)}"}}' for why in NoActionReason if why not in silent
    ]
    case = {
        "interval": "1m",
        "input_series": [
            {"series": 'evictd_last_cycle_timestamp_seconds{node="a"}', "values": "0+60x60"},
            *(
                {"series": f'evictd_no_action{{node="{why.value}",reason="{why.value}"}}', "values": "1x60"}
                for why in NoActionReason
            ),
        ],
        "promql_expr_test": [
            {
                "expr": 'count by (node, alertname) (ALERTS{alertstate="firing"})',
                "eval_time": "10m",
                "exp_samples": [{"labels": labels, "value": 1} for labels in raised],
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"rule_files": ["alerts.yaml"], "tests": [case]}))
    command = [str(program("promtool")), "test", "rules", "test.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rules = (DEPLOY / "chart" / "evictd" / "files" / "alerts.yaml").read_text(encoding="utf-8")
    assert all(f"alert: {name}\n" in rules for name in ALERTED_OTHERWISE.values())


def test_the_dashboard_shows_metrics_that_exist() -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "evictd.json").read_text(encoding="utf-8"))
    known = {metric.name for metric in metrics()}
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    named = {name.removesuffix("_bucket") for text in expressions for name in re.findall(r"evictd_\w+", text)}
    assert named <= known
    assert len(named) > 10
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_the_dashboard_lists_a_node_whose_pods_are_unknown() -> None:
    """Its list came from the number of pods, which is absent while the runtime does not answer: that node was missing."""
    text = (DEPLOY / "grafana" / "evictd.json").read_text(encoding="utf-8")
    (listed,) = re.findall(r"label_values\((\w+), node\)", text)
    assert re.search(rf"^{listed}\{{", Metrics(LatestSnapshot()).render().decode(), re.MULTILINE), (
        "before the first cycle too"
    )
