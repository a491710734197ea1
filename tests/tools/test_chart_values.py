"""The table of the chart's values has each value with its type, default and comment."""

import json
from pathlib import Path

from tests.deploy.test_chart import SCHEMA, VALUES
from tools.chart_values import values

YAML = """\
# The file's own header.

# A group
# of values.
group:
  one: 1 # after it
  # Above it.
  two: {a: b} # and after it

bare: "x # y"
"""
KINDS = {
    "group": {"type": "object", "properties": {"one": {"type": "integer"}, "two": {"type": "object"}}},
    "bare": {"enum": ["x", "y"]},
}


def test_comments_types_and_defaults_are_read(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(YAML)
    (tmp_path / "values.schema.json").write_text(json.dumps({"properties": KINDS}))
    assert [tuple(each) for each in values(tmp_path)] == [
        ("group", "object", "", "A group of values."),
        ("group.one", "integer", "1", "after it"),
        ("group.two", "object", '{"a": "b"}', "Above it. and after it"),
        ("bare", "x|y", '"x # y"', ""),
    ]


def test_every_value_of_the_chart_has_a_row() -> None:
    found = {each.path for each in values()}
    for name, value in VALUES.items():
        parts = SCHEMA["properties"][name].get("properties", {}) if isinstance(value, dict) else {}
        paths = {f"{name}.{part}" for part in value if part in parts} if parts else {name}
        assert not [path for path in paths if not any(each == path or each.startswith(f"{path}.") for each in found)]
