"""A setting is its field in the document, with `about`, and its use: nothing else has to be told of it.

The test adds one, which the core obeys, to a copy of the source, and finds it decoded and checked, in the core's configuration,
in the journal, in the reload, the schema and the reference.
"""

from pathlib import Path

from tests.copied_source import run_on_copy

FIELD = """\
    patience: Annotated[
        Duration, about("How long to wait for a miracle.", sets="patience", live=True, least=0)
    ] = Duration(SECOND)
"""
CORE = "    patience: int = SECOND\n"
FILE = """\
apiVersion: evictd.io/v1alpha1
kind: EvictdConfiguration
memory: {patience: 5s}
"""


def test_one_field_makes_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "evictd.yaml"
    path.write_text(FILE)
    added = {
        "codec/config/evictd_config.py": ((FIELD, "    watch: Annotated["),),
        "core/model/config.py": ((CORE, "    preferences: Preferences ="),),
    }
    found = run_on_copy(tmp_path, added, "tests.added_setting", path)
    assert "patience=5000000000" in found["decoded"]
    assert found["journal"] == 5_000_000_000
    assert "patience=5000000000" in found["core"]
    assert found["fault"].endswith("memory.patience: -5s: is negative; give 0s or more")
    assert ["memory.patience", "1s", "5s", True] in found["reload"]
    assert found["schema"]["default"] == "1s"
    assert found["docs"] == "| `memory.patience` | duration | `1s` | now | How long to wait for a miracle. |"
