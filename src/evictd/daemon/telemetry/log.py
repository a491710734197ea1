"""Sets up the log: JSON lines for machines, text lines for a terminal.

`start` is called once; all others use `logger()` and pass an event with values as fields, so that a log can be searched by field.
A calm node logs nothing (`telemetry.findings_log`). Lines go through `telemetry.log_writer`, which never blocks the caller.
"""

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from evictd.core.model.problem import printable
from evictd.daemon.telemetry.log_writer import LogWriter


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Let `import NAME` raise `ModuleNotFoundError` inside the block; a module that is loaded already stays available.

    An entry `None` in `sys.modules` is the import system's documented way to say that a module is not there.
    """
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type] # typeshed does not know None
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


# structlog imports rich for tracebacks that evictd does not print: 5 MiB, and 0.6 s at a tenth of a processor.
with without("rich"):
    import structlog

STANDARD_ERROR = 2

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
"""The levels of syslog(3), which systemd's journal reads from `<N>` at the start of a line (sd-daemon(3))."""

LEVELS = tuple(_LEVELS)
FORMATS = ("auto", "json", "text")


def start(*, level: str = "info", form: str = "auto", fd: int = STANDARD_ERROR) -> LogWriter:
    """Log to a descriptor, on a thread; the caller closes the writer it gets."""
    writer = LogWriter(fd)
    set_up(level=level, form=form, stream=writer, terminal=os.isatty(fd), journal=is_journal(fd, os.environ))
    return writer


def set_up(
    *,
    level: str = "info",
    form: str = "auto",
    stream: TextIO | LogWriter,
    terminal: bool = False,
    journal: bool = False,
) -> None:
    """Configure level and format; `auto` is text for a terminal and JSON for anything else."""
    text = form == "text" or (form == "auto" and terminal)
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=terminal, sort_keys=False, pad_event_to=0)
        if text
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if text else "iso", utc=not text, key="ts"),
            structlog.processors.ExceptionRenderer(),
            _with_printable_event,
            _with_priority(renderer) if journal else renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(stream),  # type: ignore[arg-type] # only write and flush are called
        cache_logger_on_first_use=False,
    )


def is_journal(fd: int, environment: Mapping[str, str]) -> bool:
    """Whether a descriptor is the stream that systemd connected to its journal (`JOURNAL_STREAM` of systemd.exec(5))."""
    try:
        found = os.fstat(fd)
    except OSError:
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def logger() -> Any:
    """Return a logger."""
    return structlog.get_logger()


def _with_printable_event(_log: Any, _name: str, event: Any) -> Any:
    """Escape the event's text, which may name containers: of the text format only the values are escaped by structlog."""
    event["event"] = printable(str(event.get("event", "")))
    return event


def _with_priority(renderer: Any) -> Any:
    def render(log: Any, name: str, event: Any) -> str:
        # The journal takes each line of a message as a record of its own.
        mark = f"<{_PRIORITIES.get(event.get('level', ''), 6)}>"
        return mark + str(renderer(log, name, event)).replace("\n", f"\n{mark}")

    return render
