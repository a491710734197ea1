"""docs/alerts.md: its commands do what the run book wants, and nothing beside."""

import re
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from evictd.cli import main
from evictd.commands.explain_alert import runbooks
from evictd.commands.status import DEFAULT_ADDRESS
from evictd.core.eviction.refusals.keep_away import LONGEST_PERIOD
from evictd.core.units.duration import MINUTE
from evictd.errors import ExitCode, SourceKind
from tests.deploy.manifests import CHART, DEPLOY, documents
from tests.docs.pages import joined
from tests.prometheus import program

DOCS = Path(__file__).parents[2] / "docs"


def book(name: str) -> str:
    return runbooks(joined("alerts.md"))[name]


def test_no_upgrade_of_the_release_resets_the_node_selector() -> None:
    """Helm resets what a command with `--set` does not name: a run book said `helm upgrade`, after which every node evicted."""
    for path in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]:
        text = joined(path)
        present = "helm get values evictd --namespace evictd --output yaml > present.yaml" in text
        kept = ("--reuse-values", "--values my-values.yaml", *(["--values present.yaml"] if present else []))
        for line in re.findall(r"^ +helm upgrade .*$", text, re.MULTILINE):
            assert any(each in line for each in kept), (path.name, line)
    assert "overlay `beside-kubelet`" in book("EvictdDryRunForLong")


def test_the_end_of_a_dry_run_is_in_the_file_of_values(tmp_path: Path) -> None:
    """The run book had `--reuse-values --set`: the next upgrade from my-values.yaml, which still said `true`, was a dry run."""
    text = book("EvictdDryRunForLong")
    got, edit, upgrade = re.findall(r"^    (helm get values|sed -i|helm upgrade) (.*?)(?: +#.*)?$", text, re.MULTILINE)
    assert got == ("helm get values", "evictd --namespace evictd --output yaml > my-values.yaml")
    assert upgrade[1].endswith("--values my-values.yaml")
    assert "with evictd-small and small-values.yaml" in text, "its nodes fire the alert, too"
    for given in ("evictd: {dryRun: true}\n", "evictd:\n  dryRun: true\n"):
        (path := tmp_path / "my-values.yaml").write_text(given)
        subprocess.run(["sh", "-ec", " ".join(edit)], cwd=tmp_path, check=True)
        assert yaml.safe_load(path.read_text()) == {"evictd": {"dryRun": False}}


def test_after_a_kill_the_record_has_the_reason() -> None:
    """The kill ends the shortage, and with it the reason in `evictd status`, to which the run book led."""
    found = book("EvictdKernelKills")
    assert "`evictd history`" in found
    assert "(`NoAction`)" in found
    assert "`MemoryThresholdNeverMet`" in found
    assert "evictd status" not in found


def test_the_run_book_of_a_long_condition_has_the_one_that_is_kept_for_an_owner() -> None:
    """It fires after 30 minutes, a condition is kept for up to 60: the run book moved a pod that had nothing to do with it."""
    text = " ".join(book("EvictdUnderPressure").split())
    assert "With no threshold met it says how long the condition stays, and for which owner" in text
    assert "Do. If no threshold is met, mend that owner or wait (docs/cluster.md#owners-that-come-back)" in text
    assert LONGEST_PERIOD > 30 * MINUTE


def test_the_run_book_of_what_fails_says_what_to_do_for_each_source_of_the_rule() -> None:
    """The summary shows the label `source`, and the run book named none."""
    rules = yaml.safe_load((CHART / "files/alerts.yaml").read_text(encoding="utf-8"))["groups"]
    (rule,) = (each for group in rules for each in group["rules"] if each["alert"] == "EvictdCannotPerform")
    sources = {source for listed in re.findall(r'source=~"(.*?)"', rule["expr"]) for source in listed.split("|")}
    named = re.findall(r"^- (`.*?`): ", book("EvictdCannotPerform"), re.MULTILINE)
    assert {source for each in named for source in re.findall(r"`(.*?)`", each)} == sources <= set(SourceKind)
    assert "reliability.md#faults-and-what-the-log-says" in book("EvictdCannotPerform")


def test_the_fault_of_a_pod_that_does_not_start_is_shown_without_that_pod() -> None:
    """The run book said `evictd check` on the node, which with Helm has no evictd, and its pod is gone before an `exec`."""
    text = book("EvictdDown")
    logs = text.index("\n    kubectl --namespace evictd logs POD --container evictd --previous\n")
    file = text.index(
        "\n    kubectl --namespace evictd get configmap evictd --output jsonpath='{.data.config\\.yaml}' > evictd.yaml\n"
    )
    assert logs < text.index("\n    # kustomize: cp mine/config.yaml evictd.yaml\n") < file
    assert file < text.index("\n    evictd check evictd.yaml\n")
    assert "the log names the fault" in text
    (daemon_set,) = (each for each in documents(DEPLOY / "base/daemonset.yaml") if each["kind"] == "DaemonSet")
    assert "evictd" in {each["name"] for each in daemon_set["spec"]["template"]["spec"]["containers"]}
    assert "config.yaml: |" in (CHART / "templates/configmap.yaml").read_text(encoding="utf-8")
    assert "upgrade" in book("EvictdThresholdNeverClear")


def test_the_run_book_of_a_silent_evictd_has_a_taken_port_and_the_killed_unit() -> None:
    """With a taken port the daemon runs on, which the run book did not say; a memory limit is only the pod's."""
    text = " ".join(book("EvictdDown").split())
    status = (DOCS.parent / "src/evictd/commands/status.py").read_text(encoding="utf-8")
    assert "answers, but is no evictd" in status
    assert "`answers, but is no evictd` (log: `Address already in use`)" in text
    assert "evictd is starting: " in status
    assert text.index("`evictd is starting`") < text.index("answers, but is no evictd")
    assert f"ss -ltnp 'sport = :{DEFAULT_ADDRESS.rpartition(':')[2]}'" in text
    unit = "".join((DEPLOY / f"evictd.{kind}").read_text(encoding="utf-8") for kind in ("service", "slice"))
    assert re.findall(r"^Memory(?:Max|High)=", unit, re.MULTILINE) == []
    assert "the unit has none" in text


def test_the_rule_of_a_dry_run_can_be_deleted_without_helm() -> None:
    """The run book had the chart's value alone."""
    text = book("EvictdDryRunForLong")
    assert "chart: `prometheusRule.disabled`" in text
    (path,) = re.findall(r"kustomize: in `(.*?)`", text)
    assert "alert: EvictdDryRunForLong\n" in (DOCS.parent / path).read_text(encoding="utf-8")


def test_the_commands_of_a_run_book_are_printed_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    """`evictd explain-alert` writes a paragraph on one line: two commands would become one."""
    for name, text in runbooks((DOCS / "alerts.md").read_text(encoding="utf-8")).items():
        assert main(["explain-alert", name]) == ExitCode.DONE
        shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("    ")]
        assert shown == re.findall(r"^    .*$", text, re.MULTILINE), name


def test_one_eviction_raises_the_rule_of_the_page_and_no_alert_of_the_chart(tmp_path: Path) -> None:
    """No page said that a single eviction raises none, nor how one is told of it."""
    helm = pytest.importorskip("helm_python", reason="has no wheel for this machine")
    section = (DOCS / "alerts.md").read_text(encoding="utf-8").partition("\n## To learn of each eviction\n")[2]
    (block,) = re.findall(r"^ +prometheusRule:\n(?: {9,}.*\n)+", section.partition("\n## ")[0], re.MULTILINE)
    over = yaml.safe_load(dedent(block))["prometheusRule"]
    with helm.Chart.load(str(CHART)) as chart:
        made = chart.render({"prometheusRule": {"enabled": True, **over}}, name="evictd", namespace="evictd")
    groups = yaml.safe_load(made["evictd/templates/prometheusrule.yaml"])["spec"]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(groups))
    (added,) = (rule for group in groups["groups"] for rule in group["rules"] if rule in over["additionalRules"])
    labels = 'node="a",eviction_signal="memory.available",reason="pressure"'
    text = added["annotations"]["summary"].replace("{{ $labels.node }}", "a")
    raised = {"exp_labels": {"node": "a", **added["labels"]}, "exp_annotations": {"summary": text}}
    others = ("EvictdManyEvictions", "EvictdRepeatedEviction")
    case = {
        "interval": "1m",
        "input_series": [
            {"series": f"evictd_evictions_total{{{labels}}}", "values": "0x30 1x30"},
            {"series": 'evictd_repeated_evictions_total{node="a"}', "values": "0x60"},
        ],
        "alert_rule_test": [
            {"eval_time": "29m", "alertname": added["alert"]},
            {"eval_time": "32m", "alertname": added["alert"], "exp_alerts": [raised]},
            *({"eval_time": "32m", "alertname": name} for name in others),
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": [case]}))
    command = [str(program("promtool")), "test", "rules", "test.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", ["alerts.md", "troubleshooting.md"])
def test_each_check_names_the_file(page: str) -> None:
    """Without one it checks the kubelet's defaults, and never finds that the node's own file has no threshold on memory."""
    commands = re.findall(r"`(evictd check\b.*?)`|^ +(evictd check\b.*)$", joined(page), re.MULTILINE)
    given = [(spans or block).removeprefix("evictd check").split() for spans, block in commands]
    assert given
    assert all(given)


REPEATED = """
kind: World
name: repeated
config: {evictionHard: {memory.available: 500Mi}}
duration: 33m
node: {memory: 8Gi}
pods:
- {name: web-6f9, owner: ReplicaSet/web, behaviours: [{grow: {of: memory, rate: 1Gi/30s}}]}
owners: [{name: ReplicaSet/web, delay: 2s, here: 1}]
"""


def test_a_repeated_eviction_is_shown_with_its_owner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an API server the run book led to `evictd history`, which need not name it."""
    (world := tmp_path / "world.yaml").write_text(REPEATED)
    main(["simulate", str(world), "--journal", str(journal := tmp_path / "journal")])
    capsys.readouterr()
    assert main(["history", str(journal)]) == ExitCode.DONE
    assert "ReplicaSet/web" not in capsys.readouterr().out
    assert main(["incident", "last", str(journal)]) == ExitCode.DONE
    assert "3 pods of ReplicaSet/web were evicted here" in capsys.readouterr().out
    assert "`evictd incident last` names the owner" in book("EvictdRepeatedEviction")


def test_a_history_of_kills_need_not_say_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run book promised it of each; of a static pod that filled the node the reason before the kill leads on."""
    world = DOCS.parent / "config/incidents/15-static-culprit.yaml"
    main(["simulate", str(world), "--journal", str(journal := tmp_path / "journal")])
    capsys.readouterr()
    assert main(["history", str(journal)]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "grew most before the kernel killed" in shown
    assert "\nnow: " not in shown
    assert "Its last lines say what is known of the cause." in " ".join(book("EvictdKernelKills").split())
