"""The shipped role and admission policies on the real server: what a stolen token may do, row by row."""

from collections.abc import Iterator

import pytest

from tests.cluster import stolen_token
from tests.cluster.binaries import Missing, find
from tests.cluster.control_plane import ControlPlane
from tests.cluster.stolen_token import ADMISSION, ROWS, Row, Stage
from tests.kube.waiting import eventually

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def stage(control_plane: ControlPlane) -> Iterator[Stage]:
    with stolen_token.stage(control_plane) as made, stolen_token.targets(made.admin):
        yield made


@pytest.mark.parametrize("row", ROWS, ids=[row.what for row in ROWS])
def test_what_a_stolen_token_may_do(stage: Stage, row: Row) -> None:
    """Forbidden is 403; nothing else counts as a refusal."""
    answer = stolen_token.send(stage.token, row)
    assert answer.status in ({200, 201} if row.allowed else {403}), answer.message


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.allowed and row.method != "GET" and "not covered" not in row.what],
    ids=lambda row: row.what,
)
def test_a_token_that_is_bound_to_no_node_may_write_nothing(stage: Stage, row: Row) -> None:
    """One that was requested for the account, and not for a pod."""
    answer = stolen_token.send(stage.unbound, row)
    assert answer.status == 403
    assert "not bound to a node" in answer.message


@pytest.mark.parametrize("row", [row for row in ROWS if row.method == "PATCH"], ids=lambda row: row.what)
def test_a_token_that_is_bound_to_the_node_itself_may_do_the_same(
    control_plane: ControlPlane, stage: Stage, row: Row
) -> None:
    """That of a systemd unit, as docs/cluster.md requests it."""
    node = stage.admin.must("GET", stolen_token.NODE)
    token = control_plane.client_with(control_plane.service_account_token("evictd", "evictd", node))
    answer = stolen_token.send(token, row)
    assert answer.status in ({200, 201} if row.allowed else {403}), answer.message


@pytest.mark.parametrize("row", [row for row in ROWS if row.method == "PATCH"], ids=lambda row: row.what)
def test_what_is_refused_is_refused_to_the_token_only(stage: Stage, row: Row) -> None:
    """The administrator's same request is no bad request of another kind."""
    answer = stolen_token.send(stage.admin, row)
    assert answer.status != 403, answer.message


def test_the_expressions_fit_the_types_of_their_objects(control_plane: ControlPlane, stage: Stage) -> None:
    """The controller manager checks each policy against the types it is about and leaves no warning."""
    programs = find("kube-controller-manager")
    if isinstance(programs, Missing):
        pytest.skip(str(programs))
    name = "validatingadmissionpolicy-status-controller"
    manager = control_plane.controller_manager(programs["kube-controller-manager"], name)
    manager.start()
    try:
        for policy in ("evictd-own-node", "evictd-own-pods", "evictd-own-events"):
            path = f"{ADMISSION}/validatingadmissionpolicies/{policy}"
            eventually(lambda: "typeChecking" in stage.admin.must("GET", path).get("status", {}))  # noqa: B023
            assert stage.admin.must("GET", path)["status"]["typeChecking"] == {}
    finally:
        manager.stop()


def test_the_document_has_the_table(stage: Stage) -> None:
    """Else run `python -m tests.cluster.stolen_token`."""
    assert len(ROWS) >= 40
    assert stolen_token.documented() == stolen_token.table(stage)
