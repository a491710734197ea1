"""Whether the container runtime of a configuration answers on this machine."""

import os
import socket
from pathlib import Path

import pytest

from evictd.config.lint_model import Lint, LintFinding, Severity
from evictd.observe.runtime_socket import runtime_findings
from tests.settings import settings_with


def findings(root: Path, *, images: str = "") -> list[LintFinding]:
    settings = settings_with(container_runtime_endpoint="unix:///run/cri.sock", image_service_endpoint=images)
    return list(runtime_findings(settings, root, timeout_seconds=1))


def test_a_missing_socket_is_a_note(tmp_path: Path) -> None:
    """`check` was silent, and `run` then could choose no pod."""
    (found,) = findings(tmp_path)
    assert (found.lint, found.severity) == (Lint.RUNTIME_MISSING, Severity.NOTE)
    assert found.message.startswith("containerRuntimeEndpoint unix:///run/cri.sock: there is no such socket here")


def test_each_endpoint_is_named_by_its_field(tmp_path: Path) -> None:
    names = [each.message.partition(" ")[0] for each in findings(tmp_path, images="unix:///run/images.sock")]
    assert names == ["containerRuntimeEndpoint", "imageServiceEndpoint"]


@pytest.mark.parametrize("listens", [True, False])
def test_a_socket_that_does_not_answer_is_a_warning(tmp_path: Path, listens: bool) -> None:
    (tmp_path / "run").mkdir()
    with socket.socket(socket.AF_UNIX) as runtime:
        runtime.bind(str(tmp_path / "run/cri.sock"))
        if listens:
            runtime.listen()
        (found,) = findings(tmp_path)
    assert (found.lint, found.severity) == (Lint.RUNTIME_UNAVAILABLE, Severity.WARNING)
    assert "does not answer (" in found.message


def test_a_socket_that_this_user_may_not_see_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    (found,) = findings(tmp_path)
    assert "does not answer (permission denied); check as root" in f"{found.message}; {found.remedy}"
