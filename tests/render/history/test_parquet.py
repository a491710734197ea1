"""A history as Parquet, read by other programs."""

import json
from pathlib import Path

import pytest

from evictd.cli import main
from tests.commands.test_replay import journal_of


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("pyarrow", reason="the extra `fleet` is not installed")
    journal = journal_of("memory-with-priorities", tmp_path / "journal.jsonl")
    path = tmp_path / "history.parquet"
    with path.open("w", encoding="utf-8") as out:
        monkeypatch.setattr("sys.stdout", out)
        assert main(["history", str(journal), "--output", "parquet"]) == 0
    return path


def test_each_event_is_a_row(written: Path) -> None:
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(written).to_pylist()
    assert [row["kind"] for row in rows] == ["Conditions", "Evicted", "Gone"]
    assert (rows[1]["pod"], rows[1]["at"].isoformat()) == ("default/report", "2026-01-31T12:00:30+00:00")
    assert json.loads(rows[1]["evidence"])["because"]["signal"] == "memory.available"


def test_duckdb_counts_evictions_by_signal(written: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs DuckDB, which `make setup` does not install")
    query = f"SELECT evidence->>'$.because.signal' AS signal, count(*) FROM '{written}' WHERE kind = 'Evicted' GROUP BY signal"
    assert duckdb.sql(query).fetchall() == [("memory.available", 1)]


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = journal_of("memory-with-priorities", tmp_path / "journal.jsonl")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert main(["history", str(journal), "--output", "parquet"]) == 2
    shown = capsys.readouterr().err
    assert "the extra `fleet`: in a clone run make setup" in shown
    assert "pip --python /usr/lib/evictd/bin/python3 install" in shown
