"""The samples in the documentation work when they are copied."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from evictd.cli import main
from evictd.commands.explain_alert import runbooks
from evictd.config.file import load
from evictd.config.kernel_share import kernel_share
from evictd.core.model.finding import NoActionReason
from evictd.core.model.signal import Signal
from evictd.core.model.threshold_config import DEFAULT_EVICTION_HARD
from evictd.core.units.quantity import parse_quantity
from evictd.daemon.configuration import Configuration
from evictd.daemon.telemetry.log import Logger
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.daemon.telemetry.telemetry import Telemetry
from evictd.errors import InputError
from tests.deploy.manifests import documents
from tests.docs.pages import joined
from tools.debian import stage
from tools.reference import conditions

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/chart/evictd"


def text_of(name: str) -> str:
    """Return the text of a page, each command on one line."""
    return joined(name)


def sample(name: str, begin: str) -> str:
    """Return the indented block of a page that begins with this line."""
    (block,) = re.findall(rf"^    {re.escape(begin)}\n(?:    .*\n)*", text_of(name), re.MULTILINE)
    return dedent(block)


def merged(below: Any, above: Any) -> Any:
    """Merge values as Helm does: maps by key, anything else replaces."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {name: merged(below.get(name), value) for name, value in above.items()}


def test_the_sample_of_a_world_meets_its_expectations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was too short: the leak was never evicted, and the exit status was 1."""
    path = tmp_path / "world.yaml"
    path.write_text(sample("worlds.md", "kind: World"))
    assert main(["simulate", str(path)]) == 0
    out = capsys.readouterr().out
    assert "default/leak was evicted" in out
    assert "As `expect` in the file says, " in out
    assert "expect." not in out


@pytest.mark.parametrize("files", [["values.yaml"], ["values.yaml", "values-instead-of-kubelet.yaml"]])
def test_thresholds_of_larger_nodes_are_valid_in_each_step_of_the_rollout(
    tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Step 5 takes the soft threshold's grace period away, without which a soft threshold is a fault."""
    values: Any = {}
    for text in [*((CHART / file).read_text(encoding="utf-8") for file in files), sample("rollout.md", "kubelet:")]:
        values = merged(values, yaml.safe_load(text))
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(head | {name: each for name, each in values["kubelet"].items() if each is not None}))
    assert main(["check", str(path), "--memory-capacity", "8Gi", "--output", "json"]) in {0, 1}
    found = capsys.readouterr().out
    assert '"1Gi"' in found
    assert "may never be met" not in found


@pytest.mark.parametrize("step", ["helm", "helm with my-values.yaml", "overlay", "unit"])
def test_pods_within_their_requests_stay_when_evictd_acts_instead_of_the_kubelet(
    step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The drop-in left the limit of all pods, which is Allocatable where the kubelet evicts nothing: 0Mi lay between both."""
    overlay = ROOT / "deploy/overlays/instead-of-kubelet-eviction"
    mine = yaml.safe_load(sample("rollout.md", "kubelet:"))["kubelet"]
    files = [yaml.safe_load((CHART / f"values{name}.yaml").read_text()) for name in ("", "-instead-of-kubelet")]
    helm = merged(*(each["kubelet"] for each in files))
    (replaced, _) = documents(overlay / "config.yaml")
    (beside, _) = documents(ROOT / "config/beside-a-kubelet.yaml")
    given = {
        "helm": helm,
        "helm with my-values.yaml": merged(helm, mine),
        "overlay": replaced,
        "unit": merged(merged(beside, replaced), mine),
    }[step]
    given = merged(
        {name: value for name, value in given.items() if value is not None}, {"kind": "KubeletConfiguration"}
    )
    given["evictionHard"] = {name: value for name, value in given["evictionHard"].items() if value is not None}
    file, kubelet = tmp_path / "config.yaml", tmp_path / "kubelet.json"
    file.write_text(yaml.safe_dump({"apiVersion": "kubelet.config.k8s.io/v1beta1"} | given))
    (drop_in,) = documents(overlay / "kubelet-config.yaml")
    raised = {"memory": "1Gi"} if "evictionSoft" in given else drop_in["systemReserved"]  # 924Mi of step 3, and 100Mi
    kubelet.write_text(json.dumps({"kubeletconfig": drop_in | {"systemReserved": raised}}))
    main(["check", str(file), "--kubelet-config", str(kubelet), "--memory-capacity", "16Gi"])
    found = "".join(capsys.readouterr())
    assert "RequestsMeetThreshold" not in found
    assert "KubeletActsFirst" not in found


def test_the_kubelets_configz_is_compared_as_the_rollout_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubelet = tmp_path / "kubelet.json"
    kubelet.write_text('{"kubeletconfig": {"evictionHard": {"memory.available": "300Mi"}}}')
    file = str(ROOT / "config/beside-a-kubelet.yaml")
    main(["check", file, "--kubelet-config", str(kubelet), "--memory-capacity", "16Gi"])
    assert "KubeletActsFirst" in "".join(capsys.readouterr())


def test_every_installation_begins_with_a_dry_run_in_a_namespace_that_admits_the_pod() -> None:
    """The first command of charts.md evicted on every node at once, and no overlay of `deploy` names the image's registry."""
    pages = {page.name: text_of(page.name) for page in (ROOT / "docs").glob("*.md")}
    found = {name: re.findall(r"^ +helm install .*$", text, re.MULTILINE) for name, text in pages.items()}
    assert {name for name, lines in found.items() if lines} == {
        "install.md",
        "rollout.md",
        "verify.md",
    }
    for name, lines in found.items():
        for line in lines:
            before = pages[name].partition(line)[0]
            dry = "--values my-values.yaml" in line and re.search(r"\n +evictd: \{dryRun: true\}", before)
            assert dry or "--set evictd.dryRun=true" in line, name
            made = (
                "kubectl create namespace evictd" in before
                and "pod-security.kubernetes.io/enforce=privileged" in before
            )
            assert made or "[namespace](rollout.md#1-a-dry-run-on-one-node)" in before, name
    assert [name for name, text in pages.items() if "apply -k deploy/overlays" in text] == []


def test_the_thresholds_of_tuning_are_above_what_was_measured_and_those_of_the_samples() -> None:
    """A node of 8 GiB had no column, one of 2 GiB other values, and one of 1 GiB the kubelet's own hard threshold."""
    page = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
    head, _, rest, hard, soft = (
        [cell.strip() for cell in line.strip("|").split("|")][1:]
        for line in page[page.index("| Node, GiB |") :].splitlines()[:5]
    )
    assert head == ["1", "2", "4", "8", "more"]
    small, large = ("150Mi", "400Mi"), ("500Mi", "1Gi")
    for size, measured, *thresholds in zip(head[:-1], rest, hard, soft, strict=False):
        share = kernel_share(int(size) << 30)
        assert share is not None
        assert measured == share.text.replace("Mi", "")
        values = [parse_quantity(each).value() for each in thresholds]
        assert values[1] > values[0] + share.busy, "the hard one leaves out what no process can allocate"
        assert tuple(thresholds) == (small if int(size) < 4 else large)
    assert (hard[-1], soft[-1]) == large
    raised = yaml.safe_load(sample("rollout.md", "kubelet:"))["kubelet"]
    packaged, _ = yaml.safe_load_all((ROOT / "config/beside-a-kubelet.yaml").read_text(encoding="utf-8"))
    for document, expected in (
        (raised, large),
        (packaged, ("150Mi", "200Mi")),
    ):  # harmless on every node from 512 MiB up
        assert tuple(document[kind]["memory.available"] for kind in ("evictionHard", "evictionSoft")) == expected


def test_the_run_books_name_events_and_exit_statuses_that_exist() -> None:
    """One spoke of an event with the alert's name, which no event has; one left out that systemd does not restart after 4."""
    books = runbooks((ROOT / "docs" / "alerts.md").read_text(encoding="utf-8"))
    events = conditions().partition("\n## Events\n")[2]
    named = re.findall(r"event `(\w+)`", books["EvictdEvictionsDoNotHelp"])
    assert named == ["EvictionsDoNotHelp"]
    assert f"| `{named[0]}` |" in events
    (prevented,) = re.findall(
        r"^RestartPreventExitStatus=(.*) 203$", (ROOT / "deploy/evictd.service").read_text(), re.MULTILINE
    )
    assert f"After {prevented.replace(' ', ' and ')} systemd does not restart" in books["EvictdDown"]


def test_a_missing_dry_run_is_no_fault_of_the_file_but_of_the_reload(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run book sent the reader to `evictd check`, which says nothing; `evictd status` has the problem `reload`."""
    path = tmp_path / "config.yaml"
    path.write_text("apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\ndryRun: true\n")
    configuration = Configuration(load(path), lambda: load(path))
    path.write_text("apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\nrootDir: /var/lib/kubelet\n")
    assert main(["check", "--syntax", str(path)]) == 0
    with pytest.raises(InputError, match="dryRun: is not set any more"):
        configuration.reload()
    book = runbooks((ROOT / "docs" / "alerts.md").read_text(encoding="utf-8"))["EvictdReloadFailed"]
    assert "`evictd status` lists the problem `reload`" in book


def test_the_kustomization_with_alerts_has_the_metrics_that_they_are_about() -> None:
    """With the alerts alone `absent(...)` raised the critical EvictdDown as soon as it was applied."""
    made = yaml.safe_load(sample("charts.md", "resources: [../deploy/overlays/dry-run]"))
    assert {Path(each).name for each in made["components"]} == {"alerts", "metrics"}
    assert all((ROOT / "mine" / each / "kustomization.yaml").resolve().is_file() for each in made["components"])


@pytest.mark.parametrize("overlay", ["dry-run", "beside-kubelet"])
@pytest.mark.parametrize("size", ["large", "small"])
def test_kustomize_gives_nodes_of_each_size_the_thresholds_of_tuning(overlay: str, size: str) -> None:
    """No page said how for large nodes, and small ones kept 200Mi, below which the hard threshold acts first."""
    folder = ROOT / "deploy/overlays" / overlay
    own = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))["configMapGenerator"]
    assert yaml.safe_load(sample("charts.md", "configMapGenerator:")) == {"configMapGenerator": own}
    text = (folder / "config.yaml").read_text(encoding="utf-8")
    command = r"^    # (.*)\n    (sed .*) deploy/overlays/dry-run/config.yaml > .*$"
    ((for_small, for_large),) = re.findall(command, text_of("charts.md"), re.MULTILINE)
    for old, new in re.findall(r"\bs/([^/]+)/([^/]+)/", for_small if size == "small" else for_large):
        assert old in text
        text = text.replace(old, new, 1)
    kubelet = next(iter(yaml.safe_load_all(text)))
    set_here = (kubelet["evictionHard"]["memory.available"], kubelet["evictionSoft"]["memory.available"])
    assert set_here == {"large": ("500Mi", "1Gi"), "small": ("150Mi", "400Mi")}[size]


@pytest.mark.parametrize("name", ["charts.md", "cluster.md", "getting-started.md"])
def test_each_command_for_large_nodes_has_the_edit_for_small_ones(name: str) -> None:
    """Two of the three pages had small nodes keep 200Mi."""
    command = r"""^    # (.*)\n    .*sed .*s/"150Mi"/"500Mi"/; s/"200Mi"/"1Gi"/.*$"""
    (before,) = re.findall(command, text_of(name), re.MULTILINE)
    assert """below 4 GiB only 's/"200Mi"/"400Mi"/', below 1 GiB none""" in before


def test_the_scrape_configuration_of_a_unit_has_the_labels_of_the_rules() -> None:
    """No page said how the metrics of a unit, on loopback only, reach Prometheus; the rules name a label that was missing."""
    (job,) = yaml.safe_load(sample("metrics.md", "scrape_configs:"))["scrape_configs"]
    (target,) = job["static_configs"]
    settings = load(ROOT / "config/evictd.yaml")
    assert target["targets"] == [settings.evictd.listen_address]
    rules = (CHART / "files/alerts.yaml").read_text(encoding="utf-8")
    assert set(target["labels"]) == {"node"} <= set(re.findall(r"labels\.(\w+)", rules))
    (named,) = re.findall(r'up\{job=~"(.*?)"\}', rules)
    assert re.fullmatch(named, job["job_name"])


def test_the_run_book_names_a_level_at_which_the_daemon_logs() -> None:
    """It sent the reader to the level `error`, at which there is no line."""
    book = runbooks((ROOT / "docs" / "alerts.md").read_text(encoding="utf-8"))["EvictdCannotPerform"]
    levels: list[str] = []
    log, published = Logger(lambda level, _event, _fields: levels.append(level)), LatestSnapshot()
    Telemetry(log, Metrics(published), published, lambda: 0).report_error("perform", "no answer")
    (level,) = levels
    assert f"at level `{level}`" in book


def test_what_the_pages_take_from_the_package_is_in_it(tmp_path: Path) -> None:
    """After `apt install` a node has no clone, and the command that installs the configuration named a file of one."""
    command = r"# the package has it in (/usr/share/\S+)\n +sudo install -m 644 config/(\S+) /etc/evictd/config.yaml"
    ((folder, name),) = re.findall(command, text_of("cluster.md"))
    stage(tmp_path, install=lambda _: None)
    assert (tmp_path / folder.lstrip("/") / name).is_file()


def test_the_sample_of_the_readme_has_the_thresholds_of_tuning_and_says_from_which_node_on() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    raised = yaml.safe_load(sample("rollout.md", "kubelet:"))["kubelet"]
    shown = re.findall(r"^    eviction(?:Hard|Soft): \{memory.available: (\w+)", readme, re.MULTILINE)
    assert shown == [raised[kind]["memory.available"] for kind in ("evictionHard", "evictionSoft")]
    assert "from 4 GiB on" in readme


def test_a_first_configuration_keeps_the_default_signals_and_the_page_says_which_others_go(tmp_path: Path) -> None:
    """The sample of the README dropped both thresholds of imagefs, and it said nowhere that a list replaces the defaults."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^    evictionHard: (\{.*?\})", readme, re.MULTILINE | re.DOTALL)
    assert set(DEFAULT_EVICTION_HARD) <= set(yaml.safe_load(listed))
    for text in (readme, text_of("configuration.md").partition("## Precedence")[0]):
        assert "mergeDefaultEvictionSettings: true" in text
    path = tmp_path / "config.yaml"
    path.write_text(sample("configuration.md", "apiVersion: kubelet.config.k8s.io/v1beta1"))
    assert set(DEFAULT_EVICTION_HARD) <= {threshold.signal.value for threshold in load(path).eviction.thresholds}
    path.write_text(path.read_text().replace("mergeDefaultEvictionSettings: true", ""))
    assert Signal.IMAGEFS_AVAILABLE not in {threshold.signal for threshold in load(path).eviction.thresholds}


@pytest.mark.parametrize(
    ("begin", "capacities"), [("# small.yaml: ", ("2Gi", "20G")), ("# large.yaml: ", ("64Gi", "1T"))]
)
def test_the_complete_files_beside_a_kubelet_are_above_its_defaults_and_are_met_in_time(
    begin: str, capacities: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No page had a file that could be copied to a node of a given size."""
    (block,) = re.findall(rf"^    {begin}.*\n(?:    .*\n)*", text_of("tuning.md"), re.MULTILINE)
    path, kubelet = tmp_path / "config.yaml", tmp_path / "kubelet.json"
    path.write_text(dedent(block))
    reserved = {"memory": {"2Gi": "300Mi", "64Gi": "924Mi"}[capacities[0]]}
    kubelet.write_text(
        json.dumps({"kubeletconfig": {"evictionHard": dict(DEFAULT_EVICTION_HARD), "systemReserved": reserved}})
    )
    memory, disk = capacities
    command = (
        f"--kubelet-config kubelet.json --memory-capacity {memory} --nodefs-capacity {disk} --imagefs-capacity {disk}"
    )
    assert f"    evictd check {begin[2:-2]} {command}\n" in text_of("tuning.md")
    assert main(["check", str(path), *command.replace(kubelet.name, str(kubelet)).split(), "--output", "json"]) == 0
    found = "".join(capsys.readouterr())
    assert '"KubeletActsFirst"' not in found
    assert '"RequestsMeetThreshold"' not in found
    assert '"MemoryThresholdNeverMet"' not in found
    assert '"SoftAfterHard"' not in found
    settings = load(path)
    assert settings.evictd.dry_run
    assert set(DEFAULT_EVICTION_HARD) | {"pid.available"} <= {
        each.signal.value for each in settings.eviction.thresholds
    }


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("The node was low on resource: ", "core/eviction/choice/evict.py"),
        ("The node had condition: [", "core/eviction/admission.py"),
        ("another evictd uses it", "daemon/store/lock.py"),
        ("no evictd answers at ", "commands/status.py"),
        ("there is no journal", "commands/advise.py"),
        ("Permission denied; the journal is known to root only", "commands/inputs/journals.py"),
        ("untolerated taint", ""),
    ],
)
def test_troubleshooting_is_found_by_the_texts_that_people_see(text: str, source: str) -> None:
    """A search for an error's text found no page, or a page of the tests."""
    assert text in text_of("troubleshooting.md")
    assert not source or text in (ROOT / "src/evictd" / source).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "reason", [each.value for each in NoActionReason if each is not NoActionReason.NO_RANK_FUNCTION]
)
def test_troubleshooting_has_a_remedy_for_each_reason(reason: str) -> None:
    section = text_of("troubleshooting.md").partition("## A threshold is met")[2].partition("\n## ")[0]
    assert f"`{reason}`" in section


def test_a_source_installation_is_removed_with_what_it_installed() -> None:
    """The page had the way back of the Debian package only."""
    made = re.findall(r"^    sudo (?:ln|install|python3|.*tee).*$", text_of("install.md"), re.MULTILINE)
    removed = sample("getting-started.md", "sudo rm -r /usr/lib/evictd /usr/bin/evictd /etc/evictd /var/lib/evictd")
    program, unit = ("/usr/lib/evictd", "/usr/bin/evictd"), ("/etc/systemd/system/", "/usr/lib/tmpfiles.d/evictd.conf")
    for path in (*program, "/etc/evictd", *unit):
        assert any(path in line for line in made), path
        assert f" {path}" in removed, path


@pytest.mark.parametrize(("begin", "capacity"), [("# small.yaml: ", 2 << 30), ("# large.yaml: ", 64 << 30)])
def test_pods_within_their_requests_stay_on_a_node_that_reserves_what_the_page_says(
    begin: str, capacity: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page had the hard threshold reserved only: the soft one evicted them, and so did the hard one on all pods' limit."""
    (block,) = re.findall(rf"^    {begin}.*\n(?:    .*\n)*", text_of("tuning.md"), re.MULTILINE)
    file, path = tmp_path / "config.yaml", tmp_path / "world.yaml"
    file.write_text(dedent(block))
    kubelet = 100 << 20
    (soft,) = (
        each.value.quantity.value() for each in load(file).eviction.thresholds if not each.hard and each.value.quantity
    )
    limit = capacity - (soft - kubelet)
    hold = [{"hold": {"of": "memory", "amount": limit - kubelet}}]
    pod = {"name": "web", "requests": {"memory": limit - kubelet}, "behaviours": hold}
    node = {"memory": capacity, "allocatableMemory": limit}
    path.write_text(yaml.safe_dump({"kind": "World", "name": "full", "duration": "5m", "node": node, "pods": [pod]}))
    assert main(["simulate", str(path), "--config", str(file)]) == 0
    assert "No pod was evicted." in capsys.readouterr().out
    assert f"by {(soft - kubelet) >> 20}Mi" in text_of("tuning.md")


def test_the_commands_that_make_the_configuration_of_the_unit_may_be_repeated(tmp_path: Path) -> None:
    """A second run appended `dryRun` again, and evictd refuses a file with a duplicate key. The file itself has it now."""
    path = tmp_path / "config.yaml"
    path.write_bytes((ROOT / "config/beside-a-kubelet.yaml").read_bytes())
    edits = re.findall(r"^    sudo (sed -i '.*') /etc/evictd/config.yaml", text_of("cluster.md"), re.MULTILINE)
    assert len(edits) == 3
    for _ in range(2):
        for edit in edits:
            subprocess.run([*shlex.split(edit), str(path)], check=True)
        assert load(path).evictd.dry_run


def test_the_overlay_that_removes_evictd_names_an_image_with_a_registry() -> None:
    """`kubectl apply -k deploy/cleanup` asked for `evictd:0.3.0`, which no node can pull."""
    made = yaml.safe_load(sample("cluster.md", "resources: [../deploy/cleanup]"))
    (image,) = made["images"]
    (kind,) = (each for each in documents(ROOT / "deploy/cleanup/job.yaml") if each["kind"] == "Job")
    (container,) = kind["spec"]["template"]["spec"]["containers"]
    assert container["image"].partition(":")[0] == image["name"]
    assert "/" in image["newName"]
    assert "apply -k deploy/cleanup" not in text_of("cluster.md")


def test_a_page_has_labelled_nodes_looked_at_before_they_evict() -> None:
    """One block of step 3 labelled the canary pool and set `dryRun=false`: pasted, it left no time to look."""
    for block in re.findall(r"(?:^    .*\n)+", text_of("rollout.md"), re.MULTILINE):
        assert "kubectl label node" not in block or not re.search(r"dryRun(=|: )false", block)


def test_the_selector_of_the_rollout_is_removed_after_a_look_at_the_nodes_without_the_label() -> None:
    """The chart tolerates every taint: evictd evicted on nodes of the control plane, which nobody had prepared."""
    (step,) = re.findall(r"^## 4\. .*?(?=^## )", text_of("rollout.md"), re.MULTILINE | re.DOTALL)
    (values,) = documents(CHART / "values.yaml")
    assert values["tolerations"] == [{"operator": "Exists"}]
    before, removed, _ = step.partition("\n    sed -i 's/,* *pool: canary//' my-values.yaml\n    helm upgrade")
    assert removed
    assert "\n    kubectl get nodes --selector 'pool!=canary'\n" in before
    assert "templates or images of new nodes have the raised `systemReserved`" in " ".join(before.split())
