"""Writes the log: JSON lines for machines, text lines for a terminal.

A line is an event with values as fields, so that a log can be searched by field. A calm node logs nothing
(`telemetry.findings_log`). Lines go through `telemetry.log_writer`, which never blocks the caller.
"""

import json
import os
from collections.abc import Callable, Mapping
from time import localtime, strftime
from typing import Any, TextIO

from evictd.clock import wall_clock
from evictd.codec.times import rfc3339
from evictd.core.model.problem import printable
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.log_writer import LogWriter

STANDARD_ERROR = 2
LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("auto", "json", "text")

_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}
"""The levels of syslog(3), which systemd's journal reads from `<N>` at the start of a line (sd-daemon(3))."""
_COLORS = {"debug": "32", "info": "32", "warning": "33", "error": "31"}
"""The colors of a terminal (ECMA-48): green, yellow, red."""
_QUOTED = frozenset(" =\"'")

Emit = Callable[[str, str, Mapping[str, Any]], None]
"""Takes the level, the event and the fields of a line."""


class Logger:
    """Logs events with their fields."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    def log(self, level: str, event: str, **fields: Any) -> None:
        """Log an event at one of `LEVELS`."""
        self._emit(level, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """Log what happened."""
        self._emit("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Log what an operator may have to act on."""
        self._emit("warning", event, fields)


def logger(
    stream: TextIO | LogWriter,
    *,
    level: str = "info",
    form: str = "auto",
    terminal: bool = False,
    journal: bool = False,
) -> Logger:
    """Return a logger of lines of at least this level; `auto` is text for a terminal and JSON for anything else."""
    text = form == "text" or (form == "auto" and terminal)
    levels = LEVELS[LEVELS.index(level) :]

    def emit(level: str, event: str, fields: Mapping[str, Any]) -> None:
        if level in levels:
            mark = f"<{_PRIORITIES[level]}>" if journal else ""
            line = _text(level, event, fields, colors=terminal) if text else _json(level, event, fields)
            stream.write(f"{mark}{line}\n")

    return Logger(emit)


def start(*, level: str = "info", form: str = "auto", fd: int = STANDARD_ERROR) -> tuple[Logger, LogWriter]:
    """Return a logger to a descriptor, and its writer, which has a thread and which the caller closes."""
    writer = LogWriter(fd)
    terminal, journal = os.isatty(fd), is_journal(fd, os.environ)
    return logger(writer, level=level, form=form, terminal=terminal, journal=journal), writer


def is_journal(fd: int, environment: Mapping[str, str]) -> bool:
    """Whether a descriptor is the stream that systemd connected to its journal (`JOURNAL_STREAM` of systemd.exec(5))."""
    try:
        found = os.fstat(fd)
    except OSError:
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def _json(level: str, event: str, fields: Mapping[str, Any]) -> str:
    at = rfc3339(wall_clock(), micro=True)
    return json.dumps({**fields, "event": printable(event), "level": level, "ts": at}, default=repr)


def _text(level: str, event: str, fields: Mapping[str, Any], *, colors: bool) -> str:
    shown_level = f"{level:<9}"
    if colors:
        shown_level = f"\x1b[{_COLORS[level]}m{shown_level}\x1b[0m"
    values = (f"{name}={_value(value)}" for name, value in fields.items())
    at = strftime("%H:%M:%S", localtime(wall_clock() / SECOND))
    return " ".join([at, f"[{shown_level}]", printable(event), *values])


def _value(value: object) -> str:
    """Return a value without control characters; a text is quoted where its end would not be seen."""
    if isinstance(value, str) and value.isprintable() and not _QUOTED & set(value):
        return value
    return printable(repr(value))
