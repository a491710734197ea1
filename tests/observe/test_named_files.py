"""Files that the configuration names are looked for below the node's root."""

from pathlib import Path

import pytest

from evictd.config.lint_model import Lint, Severity
from evictd.config.settings import ClusterSettings, EvictdConfiguration, HookSettings, Settings
from evictd.observe.named_files import unreadable_files
from tests.trees import plant


def messages(evictd: EvictdConfiguration, root: Path) -> list[str]:
    found = list(unreadable_files(Settings(evictd=evictd), root, service_account=root / "account"))
    assert {one.lint for one in found} <= {Lint.FILE_UNREADABLE}
    assert all(one.severity is Severity.WARNING and one.signal is None and one.remedy for one in found)
    return [one.message for one in found]


def of_kubeconfig(path: str) -> EvictdConfiguration:
    return EvictdConfiguration(cluster=ClusterSettings(kubeconfig=path))


def test_a_configuration_that_names_no_file_has_no_finding(tmp_path: Path) -> None:
    assert messages(EvictdConfiguration(), tmp_path) == []


def test_the_kubeconfig_is_looked_for_below_the_root(tmp_path: Path) -> None:
    missing = (
        "cluster.kubeconfig: /etc/kubelet.conf: there is no such file, so `evictd run` would not start on this machine"
    )
    assert messages(of_kubeconfig("/etc/kubelet.conf"), tmp_path) == [missing]
    plant(tmp_path, {"etc": {"kubelet.conf": "", "folder": {}}})
    assert messages(of_kubeconfig("/etc/kubelet.conf"), tmp_path) == []
    assert "/etc/folder: is a directory" in messages(of_kubeconfig("/etc/folder"), tmp_path)[0]
    assert "/etc/kubelet.conf/x: not a directory" in messages(of_kubeconfig("/etc/kubelet.conf/x"), tmp_path)[0]


def test_a_file_that_this_user_may_not_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"kubelet.conf": ""})
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "/kubelet.conf: permission denied" in messages(of_kubeconfig("/kubelet.conf"), tmp_path)[0]


def test_outside_a_pod_there_is_no_service_account(tmp_path: Path) -> None:
    assert (
        f"in-cluster: {tmp_path}/account/token: there is no such file"
        in messages(of_kubeconfig("in-cluster"), tmp_path)[0]
    )
    plant(tmp_path, {"account": {"token": "t", "ca.crt": "c"}})
    assert messages(of_kubeconfig("in-cluster"), tmp_path) == []


def test_the_program_of_a_hook_has_to_be_executable(tmp_path: Path) -> None:
    evictd = EvictdConfiguration(hooks=HookSettings(before=("/bin/first", "-x"), after=("/bin/second",)))
    plant(tmp_path, {"bin": {"first": ""}})
    assert messages(evictd, tmp_path) == [
        "hooks.before: /bin/first: permission denied, so the hook fails here",
        "hooks.after: /bin/second: there is no such file, so the hook fails here",
    ]
    (tmp_path / "bin/first").chmod(0o755)
    assert len(messages(evictd, tmp_path)) == 1
