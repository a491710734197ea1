"""Every fault at every point of the cycle: the right victim or none, nothing lost, recovery within a bound, one finding."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.cri_server import Answer, fake_runtime
from tests.faults.harness import Fault, Point, run_cell
from tests.faults.node_double import FakeNode
from tests.faults.report import NONE, RESULTS
from tests.faults.table import FAULTS


class Server:
    """One runtime for all tests of a worker: it answers for the node of the test that runs."""

    def __init__(self) -> None:
        self.node: FakeNode | None = None
        self.endpoint = ""

    def answers(self, names: list[str]) -> dict[str, Answer]:
        def of(name: str) -> Answer:
            def respond(request: bytes, context: object) -> bytes:
                assert self.node is not None
                return self.node.answers()[name](request, context)  # type: ignore[arg-type]

            return respond

        return {name: of(name) for name in names}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    ours = Server()
    base = tmp_path_factory.mktemp("runtime")
    names = list(FakeNode(base / "names").answers())
    with fake_runtime(base / "s", ours.answers(names)) as ours.endpoint:
        yield ours


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "point"),
    [pytest.param(fault, point, id=f"{fault.name}-{point.value}") for fault in FAULTS for point in fault.points],
)
def test_fault(tmp_path: Path, server: Server, fault: Fault, point: Point) -> None:
    server.node = FakeNode(tmp_path)
    result = run_cell(fault, point, server.node, server.endpoint)
    recorded = json.loads(RESULTS.read_text())[fault.name]
    assert fault.may_spare or (result.stopped or NONE) in recorded["stopped"] or len(fault.victims) > 1


def test_the_table_is_large_enough() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 40
