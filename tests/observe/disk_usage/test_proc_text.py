"""Of a text that a pod makes as long as it likes, only whole lines of the beginning are read."""

from pathlib import Path

import pytest

from evictd.observe.disk_usage import proc_text
from evictd.observe.disk_usage.proc_text import read_whole_lines


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (b"", b""),
        (b"ab\ncd", b"ab\ncd"),
        (b"ab\ncd\n", b"ab\ncd\n"),
        (b"ab\ncdefgh\n", b"ab\n"),
        (b"abcdefghij\n", b""),
    ],
    ids=["nothing", "short", "whole lines", "a line cut short", "one long line"],
)
def test_whole_lines_of_the_beginning_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, read: bytes
) -> None:
    monkeypatch.setattr(proc_text, "_MAX_BYTES", 8)
    (tmp_path / "maps").write_bytes(text)
    assert read_whole_lines(str(tmp_path / "maps")) == read
