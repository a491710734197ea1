"""The kubelet of a node is found by its command line, with its drop-ins and flags."""

from pathlib import Path

import pytest

from evictd.config.flags import NO_FLAGS
from evictd.observe.running_kubelet import RunningKubelet, running_kubelet
from tests.trees import plant

FILE = "var/lib/kubelet/config.yaml"


def node(folder: Path, *commands: str) -> Path:
    """A node with a process for each command, in the order of their PIDs, and a directory of drop-ins."""
    processes = {str(9 + pid): {"cmdline": text.replace(" ", "\0") + "\0"} for pid, text in enumerate(commands)}
    return plant(folder / "node", {"proc": {**processes, "self": {}}, "etc": {"kubelet.conf.d": {"a.conf": ""}}})


@pytest.mark.parametrize("command", ["", "/usr/bin/kubelet-proxy --config-dir=/etc/kubelet.conf.d", "sh -c kubelet"])
def test_without_a_kubelet_it_is_the_usual_file(tmp_path: Path, command: str) -> None:
    root = node(tmp_path, command)
    assert running_kubelet(root) == RunningKubelet(file=root / FILE)


def test_its_file_drop_ins_and_flags_are_those_of_the_node(tmp_path: Path) -> None:
    options = "--config=/etc/k.yaml --config-dir /etc/kubelet.conf.d --v=2 --eviction-hard=memory.available<1Gi"
    root = node(tmp_path, "sleep 9", f"/usr/bin/kubelet --fail-swap-on {options}", "kubelet --config=/other")
    found = running_kubelet(root)
    assert (found.file, found.flags.config_dir) == (root / "etc/k.yaml", root / "etc/kubelet.conf.d")
    assert found.flags.kubelet == {"eviction_hard": {"memory.available": "1Gi"}}
    assert (found.pid, found.missing_directory) == (10, None)


def test_what_concerns_no_threshold_is_left_out(tmp_path: Path) -> None:
    root = node(tmp_path, "kubelet --kubeconfig=/etc/kubernetes/kubelet.conf --config-dir= --root-dir=/data")
    found = running_kubelet(root)
    assert (found.flags.cluster, found.flags.evictd, found.flags.config_dir) == ({}, {}, None)


def test_a_process_of_a_container_that_is_called_kubelet_is_none(tmp_path: Path) -> None:
    """Its paths are those of the container, and its author writes its arguments."""
    root = node(tmp_path, "kubelet --config=/etc/shadow", "kubelet --config=/etc/k.yaml")
    (root / "proc/9/root").symlink_to(tmp_path)
    (root / "proc/10/root").symlink_to(root)
    assert running_kubelet(root).file == root / "etc/k.yaml"


def test_a_kubelet_that_has_another_file_at_its_path_is_none_of_this_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a mount namespace of its own `/` is the node's, as it cannot be here, and what is mounted below it is not."""
    monkeypatch.setattr("evictd.observe.running_kubelet._in_a_container", lambda *_: False)
    root = node(
        tmp_path, "kubelet --config=/hidden.yaml", "kubelet --config=/other.yaml", "kubelet --config=/etc/k.yaml"
    )
    plant(root, {"other.yaml": "", "etc": {"k.yaml": ""}})
    plant(root / "proc/9/root", {"hidden.yaml": ""})
    plant(root / "proc/10/root", {"other.yaml": ""})
    plant(root / "proc/11/root", {})
    (root / "proc/11/root/etc").symlink_to(root / "etc")
    found = running_kubelet(root)
    assert (found.pid, found.file) == (11, root / "etc/k.yaml")


def test_a_directory_that_is_not_here_is_named(tmp_path: Path) -> None:
    root = node(tmp_path, "kubelet --config-dir=/none")
    found = running_kubelet(root)
    assert (found.missing_directory, found.flags.config_dir) == (root / "none", None)


def test_a_folder_without_processes_has_no_kubelet(tmp_path: Path) -> None:
    assert running_kubelet(tmp_path).flags == NO_FLAGS


@pytest.mark.parametrize("arguments", ["--config", "--image-gc-high-threshold=many", "--eviction-hard=memory"])
def test_a_process_with_arguments_that_no_kubelet_starts_with_is_none(tmp_path: Path, arguments: str) -> None:
    """Any user can run a process of that name: it must not end `check`."""
    root = node(tmp_path, f"kubelet {arguments}", "kubelet --config=/etc/k.yaml")
    assert running_kubelet(root).file == root / "etc/k.yaml"
