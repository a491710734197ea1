"""What `status`, `why` and `incident` print for wrong input: one line with the place and the remedy.

What `argparse` itself refuses is left out: its words differ between versions of Python.
"""

from pathlib import Path

import pytest

from evictd.cli import main
from tests.render.recorded_incident import journal_lines
from tests.stories import check_golden

WRONG = (
    "status --address foo",
    "status --address 127.0.0.1:99999",
    "status --address 127.0.0.1:1",
    "why hog --directory nowhere",
    "why hog-old --directory node",
    "why default/hog-odl --journal node",
    "explain shop/db",
    "explain-alert ProtectedCulprit",
    "explain-alert Nothing",
    "why a/b/c",
    "why default/hog --address foo",
    "why default/hog --directory nowhere --address 127.0.0.1:1",
    "why default/other --directory node --address 127.0.0.1:1",
    "incident --journal nowhere.jsonl",
    "incident --journal empty.jsonl",
    "incident --directory nowhere",
    "incident 0000 --directory node",
    "incident --list --output html --directory node",
    "incidents",
)


def test_each_is_refused_with_its_place_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "node/journal.jsonl").write_bytes(b"".join(journal_lines()))
    (tmp_path / "empty.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    shown = []
    for line in WRONG:
        try:
            status = int(main(line.split()))
        except SystemExit as ended:
            status = int(ended.code or 0)
        streams = capsys.readouterr()
        shown.append(f"$ evictd {line}\n{streams.out}{streams.err}status {status}\n")
    check_golden("wrong-input.txt", "\n".join(shown))
