"""What `helm test` reports of a DaemonSet."""

import importlib.util
import time
from typing import Any

import pytest

from tests.deploy.manifests import CHART

_SPEC = importlib.util.spec_from_file_location("ready", CHART / "files/ready.py")
assert _SPEC is not None
assert _SPEC.loader is not None
ready = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(ready)


def daemon_set(**status: int) -> dict[str, Any]:
    whole = {"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberReady": 3}
    return {"metadata": {"generation": 2}, "status": whole | status}


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({}, ""),
        ({"observedGeneration": 1}, "has not seen this revision"),
        ({"desiredNumberScheduled": 0}, "no node is selected"),
        ({"updatedNumberScheduled": 1}, "1 of 3 pods have this revision"),
        ({"numberReady": 2}, "2 of 3 pods are ready"),
    ],
)
def test_what_is_missing_is_named(status: dict[str, int], text: str) -> None:
    found = ready.missing(daemon_set(**status))
    assert text in found
    assert bool(text) == bool(found)


def test_a_new_daemon_set_has_no_status_yet() -> None:
    """The controller fills it; `updatedNumberScheduled` is absent while it is 0."""
    assert "has not seen" in ready.missing({"metadata": {"generation": 1}, "status": {"desiredNumberScheduled": 0}})
    first = daemon_set()
    del first["status"]["updatedNumberScheduled"]
    assert ready.missing(first) == "0 of 3 pods have this revision"


def test_it_asks_until_all_pods_are_ready(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    one = daemon_set(numberReady=1)
    answers: list[dict[str, Any] | OSError] = [daemon_set(), OSError("refused"), one, one]

    def read(namespace: str, name: str) -> dict[str, Any]:
        answer = answers.pop()
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(ready, "read", read)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert ready.main("ns", "evictd", "60") == 0
    assert capsys.readouterr().out.splitlines() == [
        "evictd: 1 of 3 pods are ready",
        "evictd: the API server does not answer: refused",
        "evictd: a ready pod on each selected node",
    ]


def test_it_gives_up_with_what_to_look_at(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ready, "read", lambda *_: daemon_set(numberReady=0))
    assert ready.main("ns", "evictd", "-1") == 1
    assert "kubectl --namespace ns describe daemonset,pods" in capsys.readouterr().out
