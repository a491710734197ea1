"""Reloads the configuration on SIGHUP, and passes what changed to the node and to the status server."""

from evictd.core.model.config import EvictionConfig
from evictd.daemon.configuration import Configuration
from evictd.daemon.node import Node
from evictd.daemon.telemetry.http import StatusServer
from evictd.daemon.telemetry.telemetry import Telemetry
from evictd.worker import describe


class Reloader:
    """The configuration, and what depends on it."""

    def __init__(self, configuration: Configuration, node: Node, server: StatusServer, telemetry: Telemetry) -> None:
        self._configuration = configuration
        self._node = node
        self._server = server
        self._telemetry = telemetry

    @property
    def eviction(self) -> EvictionConfig:
        """The configuration in effect."""
        return self._configuration.settings.eviction

    def reload(self) -> None:
        """Reload; an error in the files is reported and changes nothing."""
        try:
            found = self._configuration.reload()
        except Exception as error:  # whatever it is: a file that cannot be read must not end the daemon
            self._telemetry.reload_failed(describe(error))
            return
        self._telemetry.reloaded(found, self._configuration.settings.warnings)
        self._node.configure(self._configuration.settings)
        self._server.listen()
