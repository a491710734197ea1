"""Log lines to readers of every kind: none of them delays the caller, and what is lost is counted."""

import fcntl
import os
import threading

from evictd.daemon.telemetry.log_writer import MOST_LINE_BYTES, LogWriter


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
