"""How does evictd speak: to machines as JSON, to a terminal as lines.

Set up once at start. Everything else asks `logger()` and gives events as short words with values beside them, so that
a log can be searched by field. A calm node says nothing; `daemon.findings_log` keeps it that way.
"""

import logging
import sys
from typing import Any, TextIO

import structlog

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

LEVELS = tuple(_LEVELS)
FORMATS = ("auto", "json", "text")


def set_up(*, level: str = "info", form: str = "auto", stream: TextIO | None = None) -> None:
    """Choose level and form; `auto` is text for a terminal and JSON for anything else."""
    target = sys.stderr if stream is None else stream
    text = form == "text" or (form == "auto" and target.isatty())
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=target.isatty(), sort_keys=False, pad_event_to=0)
        if text
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if text else "iso", utc=not text, key="ts"),
            structlog.processors.ExceptionRenderer(),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(target),
        cache_logger_on_first_use=False,
    )


def logger() -> Any:
    """Give a logger."""
    return structlog.get_logger()
