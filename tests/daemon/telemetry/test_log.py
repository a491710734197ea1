"""JSON for machines, lines for a terminal."""

import fcntl
import io
import json
import os
import threading

from evictd.daemon.telemetry import log
from evictd.daemon.telemetry.log import MOST_LINE_BYTES, LogWriter


def test_machines_get_one_json_object_a_line() -> None:
    stream = io.StringIO()
    logger = log.logger(stream)
    logger.warning("threshold met", signal="memory.available")
    record = json.loads(stream.getvalue())
    assert (record["event"], record["level"], record["signal"]) == ("threshold met", "warning", "memory.available")
    assert record["ts"].endswith("Z")


def test_people_get_a_line_without_braces() -> None:
    stream = io.StringIO()
    logger = log.logger(stream, form="text")
    logger.info("pod evicted", pod="default/web")
    assert "pod evicted" in stream.getvalue()
    assert "{" not in stream.getvalue()


def test_a_terminal_gets_lines_that_are_broken_at_spaces() -> None:
    """The first lines of `evictd run` were broken inside words at 80 columns."""
    stream = io.StringIO()
    logger = log.logger(stream, terminal=True, columns=lambda: 80)
    text = "dry run: nothing is changed; `evictd status` and http://127.0.0.1:10277/ show what evictd sees and decides"
    logger.info(text, path="/var/lib/" + "long-name/" * 9)
    first, *others = stream.getvalue().replace("\x1b[32m", "").replace("\x1b[0m", "").splitlines()
    assert len(first) <= 80
    assert all(line.startswith(" " * 21) for line in others)
    assert " ".join([first[21:], *(line.strip() for line in others[:-1])]) == text
    assert others[-1].endswith("long-name/"), "a word that is longer than the line stays whole"


def test_lines_below_the_level_are_not_logged() -> None:
    stream = io.StringIO()
    logger = log.logger(stream, level="warning")
    logger.info("calm")
    assert stream.getvalue() == ""


def test_the_journal_gets_the_priority_before_each_line() -> None:
    stream = io.StringIO()
    logger = log.logger(stream, journal=True)
    logger.warning("threshold met")
    logger.info("calm")
    assert [line[:3] for line in stream.getvalue().splitlines()] == ["<4>", "<6>"]


def test_the_journal_is_known_by_device_and_inode_of_the_stream() -> None:
    """`JOURNAL_STREAM` is inherited by children whose standard error went elsewhere; the variable alone proves nothing."""
    read, write = os.pipe()
    found = os.fstat(write)
    try:
        assert log.is_journal(write, {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"})
        assert not log.is_journal(write, {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino + 1}"})
        assert not log.is_journal(write, {})
    finally:
        os.close(read)
        os.close(write)


def test_a_terminal_gets_colors_and_values_that_are_seen_to_end() -> None:
    stream = io.StringIO()
    logger = log.logger(stream, terminal=True)
    logger.log("error", "no\rescape", pod="default/web", detail="two words", many=("\x1b[1m",))
    line = stream.getvalue().partition(" ")[2]
    assert line == "[\x1b[31merror    \x1b[0m] no\\rescape pod=default/web detail='two words' many=('\\x1b[1m',)\n"


def test_a_value_that_json_does_not_know_is_written_all_the_same() -> None:
    stream = io.StringIO()
    log.logger(stream).info("a", error=ValueError("x"))
    assert json.loads(stream.getvalue())["error"] == "ValueError('x')"


def test_every_line_arrives_in_order() -> None:
    read, write = os.pipe()
    writer = LogWriter(write)
    os.close(write)
    for number in range(100):
        writer.write(f"{number}\n")
    writer.close(60)
    with os.fdopen(read) as reader:
        assert reader.read().split() == [str(number) for number in range(100)]
    assert writer.dropped == 0


def test_a_reader_that_is_stopped_costs_lines_and_no_time() -> None:
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    writer = LogWriter(write, most_pending_bytes=1000)
    for _ in range(1000):
        writer.write("x" * 99 + "\n")
    assert writer.dropped >= 1000 - 42 - 10
    with os.fdopen(read) as reader:
        reading = threading.Thread(target=writer.close, args=(60,))
        reading.start()
        os.close(write)
        text = reader.read()
        reading.join(60)
    assert "log lines dropped" in text
    assert text.count("x" * 99) + writer.dropped == 1000


def test_a_reader_that_has_gone_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    writer = LogWriter(write)
    os.close(write)
    writer.write("said after the end\n")
    writer.close(60)
    assert writer.dropped == 1


def test_a_full_disk_is_no_error() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    writer = LogWriter(full)
    os.close(full)
    writer.write("one\n")
    writer.write("two\n")
    writer.close(60)
    assert writer.dropped == 2


def test_a_line_is_bounded_and_never_unencodable() -> None:
    read, write = os.pipe()
    writer = LogWriter(write)
    os.close(write)
    writer.write("\ud800\n")
    writer.write("x" * (2 * MOST_LINE_BYTES) + "\n")
    threading.Thread(target=writer.close, args=(60,)).start()
    with os.fdopen(read, "rb") as reader:
        first, second = reader.read().splitlines()
    assert first == b"\\ud800"
    assert len(second) < MOST_LINE_BYTES
