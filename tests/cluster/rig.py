"""A reporter of a node, n1 unless named, with its queue on a simulated clock; the server is real."""

from typing import Any

from evictd.act.cluster.report import ClusterReporter
from evictd.act.cluster.request_queue import RequestQueue
from evictd.clients.kube.nodes import NodeClient
from evictd.clients.kube.transport import Transport
from evictd.config.settings import ClusterSettings, ConditionTypes
from evictd.core.model.signal import NodeCondition
from tests.kube.driving import SILENT_BELL, Driver


class Rig:
    """`settings` are fields of `ClusterSettings`."""

    def __init__(
        self,
        transport: Transport,
        types: ConditionTypes = ConditionTypes.OWN,
        *,
        node_name: str = "n1",
        **settings: Any,
    ) -> None:
        self.driver = Driver()
        self.reporter = ClusterReporter(
            NodeClient(transport, node_name),
            self.driver.clocks,
            SILENT_BELL,
            ClusterSettings(condition_types=types, **settings),
            node_name=node_name,
        )
        self.queue = RequestQueue([self.reporter], self.driver.clocks)

    def report(self, *conditions: NodeCondition) -> None:
        """Report these conditions, and send what is due within three seconds."""
        self.reporter.report(conditions, self.driver.now)
        self.driver.settle(self.queue)
