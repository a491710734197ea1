"""Writes the log: JSON lines for machines, text lines for a terminal.

A line is an event with values as fields, so that a log can be searched by field. A calm node logs nothing
(`telemetry.findings_log`). `LogWriter` never blocks the caller.
"""

import contextlib
import json
import os
import textwrap
import threading
from collections.abc import Callable, Mapping
from functools import partial
from time import localtime, strftime
from typing import Any, TextIO

from evictd.clock import wall_clock
from evictd.codec.times import rfc3339
from evictd.core.model.problem import printable
from evictd.core.units.duration import SECOND
from evictd.worker import WorkQueue

STANDARD_ERROR = 2
LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("auto", "json", "text")

_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}
"""The levels of syslog(3), which systemd's journal reads from `<N>` at the start of a line (sd-daemon(3))."""
_COLORS = {"debug": "32", "info": "32", "warning": "33", "error": "31"}
"""The colors of a terminal (ECMA-48): green, yellow, red."""
MOST_PENDING_BYTES = 1 << 20
"""Size of the queue: some 5,000 lines. On a node that is short of memory, memory matters more than a log."""
MOST_LINE_BYTES = 64 << 10
CLOSE_SECONDS = 1.0
"""How long the end of the daemon waits for the pending lines to be written."""
_LEAST_TEXT = 10
"""Columns that the text has on the narrowest terminal."""
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


class LogWriter:
    """A file-like object for text lines; `write` takes whole lines and returns at once. The descriptor is duplicated.

    No reader of the log can delay or end an eviction. The caller appends to a bounded queue, and a thread writes to the
    descriptor: it may block there forever (the reader of a pipe is stopped), or get an error (the log file's disk is full, the
    reader has closed the pipe). A line that does not fit into the queue, and a line that the descriptor refuses, is dropped and
    counted; the next line that is written is preceded by one with the number of dropped lines. No call raises.
    """

    def __init__(self, fd: int, *, most_pending_bytes: int = MOST_PENDING_BYTES) -> None:
        self._fd = os.dup(fd)
        self._lock = threading.Lock()
        self._dropped = 0
        self._unreported = 0
        self._torn = False
        self._lines = WorkQueue("evictd-log", self._write_line, capacity=most_pending_bytes)

    @property
    def dropped(self) -> int:
        """The number of lines dropped so far."""
        return self._dropped

    def write(self, text: str) -> int:
        """Queue lines; they are dropped and counted where too many are pending."""
        line = text.encode("utf-8", "backslashreplace")
        if len(line) > MOST_LINE_BYTES:
            line = line[: MOST_LINE_BYTES - 4] + b"...\n"
        if not self._lines.put(line, len(line)):
            self._count_drop()
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread writes each line whole."""

    def close(self, timeout_seconds: float = CLOSE_SECONDS) -> None:
        """Write what is pending, within the time given; a thread that is blocked in a write ends with the process."""
        if self._lines.close(timeout_seconds):
            os.close(self._fd)

    def _write_line(self, line: bytes) -> None:
        unreported = self._unreported
        if unreported and self._put(b'{"event": "log lines dropped", "level": "warning", "count": %d}\n' % unreported):
            with self._lock:
                self._unreported -= unreported
        if not self._put(line):
            self._count_drop()

    def _put(self, line: bytes) -> bool:
        """Write a line; False if the descriptor refused any of it."""
        # A full disk may have cut the last line short; the next one begins a line of its own.
        left = memoryview(b"\n" + line if self._torn else line)
        begun = False
        with contextlib.suppress(OSError):
            while left:
                written = os.write(self._fd, left)
                begun, left = True, left[written:]
            self._torn = False
            return True
        self._torn = self._torn or begun
        return False

    def _count_drop(self) -> None:
        with self._lock:
            self._dropped += 1
            self._unreported += 1


def logger(
    stream: TextIO | LogWriter,
    *,
    level: str = "info",
    form: str = "auto",
    terminal: bool = False,
    journal: bool = False,
    columns: Callable[[], int] = lambda: 0,
) -> Logger:
    """Return a logger of lines of at least this level; `auto` is text for a terminal and JSON for anything else.

    Text is wrapped at spaces to this many columns; 0: it is not.
    """
    text = form == "text" or (form == "auto" and terminal)
    levels = LEVELS[LEVELS.index(level) :]

    def emit(level: str, event: str, fields: Mapping[str, Any]) -> None:
        if level in levels:
            mark = f"<{_PRIORITIES[level]}>" if journal else ""
            line = _text(level, event, fields, columns(), colors=terminal) if text else _json(level, event, fields)
            stream.write(f"{mark}{line}\n")

    return Logger(emit)


def start(*, level: str = "info", form: str = "auto", fd: int = STANDARD_ERROR) -> tuple[Logger, LogWriter]:
    """Return a logger to a descriptor, and its writer, which has a thread and which the caller closes."""
    writer = LogWriter(fd)
    terminal, journal = os.isatty(fd), is_journal(fd, os.environ)
    columns = partial(_columns, fd) if terminal else lambda: 0
    return logger(writer, level=level, form=form, terminal=terminal, journal=journal, columns=columns), writer


def _columns(fd: int) -> int:
    """Return the width of a terminal now; 0 where it is unknown."""
    try:
        return os.get_terminal_size(fd).columns
    except OSError:
        return 0


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


def _text(level: str, event: str, fields: Mapping[str, Any], columns: int, *, colors: bool) -> str:
    shown_level = f"{level:<9}"
    if colors:
        shown_level = f"\x1b[{_COLORS[level]}m{shown_level}\x1b[0m"
    values = (f"{name}={_value(value)}" for name, value in fields.items())
    at = strftime("%H:%M:%S", localtime(wall_clock() / SECOND))
    lead = len(f"{at} [{level:<9}] ")
    text = " ".join([printable(event), *values])
    if columns:
        lines = textwrap.wrap(text, max(columns - lead, _LEAST_TEXT), break_long_words=False, break_on_hyphens=False)
        text = f"\n{' ' * lead}".join(lines)
    return f"{at} [{shown_level}] {text}"


def _value(value: object) -> str:
    """Return a value without control characters; a text is quoted where its end would not be seen."""
    if isinstance(value, str) and value.isprintable() and not _QUOTED & set(value):
        return value
    return printable(repr(value))
