"""Injects faults: a rule matches requests and makes them fail a number of times."""

import threading
from dataclasses import dataclass, field


@dataclass
class Fault:
    """One fault. Empty `verb` or `resource` match all; `resource` may be `pods/status`; `times` -1 means always."""

    verb: str = ""
    resource: str = ""
    status: int = 0
    """Answer with this status."""
    body: bytes = b""
    """Answer with this body instead of a `Status` object."""
    retry_after: str = ""
    delay: float = 0.0
    """Wait for this many seconds first (ends early when the server stops)."""
    cut: int = -1
    """Send only this many bytes of the answer, then close the connection."""
    refuse: bool = False
    """Close the connection without an answer."""
    drip: str = ""
    """Send the `headers` or the `body` of an endless answer byte by byte, until the client disconnects or the server stops."""
    times: int = -1
    name: str = ""
    """Match the object of this name only."""
    taken: int = 0
    """How many requests it was applied to so far."""

    def matches(self, verb: str, resource: str, name: str) -> bool:
        asked = self.verb in ("", verb) and self.resource in ("", resource) and self.name in ("", name)
        return self.times != 0 and asked


@dataclass
class Faults:
    """The active rules; the first that matches is counted down."""

    rules: list[Fault] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: Fault) -> Fault:
        with self._lock:
            self.rules.append(fault)
        return fault

    def clear(self) -> None:
        with self._lock:
            self.rules.clear()

    def take(self, verb: str, resource: str, name: str) -> Fault | None:
        with self._lock:
            for fault in self.rules:
                if fault.matches(verb, resource, name):
                    fault.times -= fault.times > 0
                    fault.taken += 1
                    return fault
            return None
