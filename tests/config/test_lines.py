"""Each field has the line that a reader of the file finds it on."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.config.lines import document_lines, field_lines, with_line
from evictd.core.model.problem import ConfigProblem

TWO_DOCUMENTS = """\
kind: KubeletConfiguration
evictionHard:
  memory.available: 500Mi
systemReserved: {memory: 1Gi,
  cpu: 100m}
---
kind: EvictdConfiguration
ranking:
  later:
  - namespace: a
    labels: [x]
"""


def line_of(path: str, text: str = TWO_DOCUMENTS) -> int | None:
    return with_line(ConfigProblem(path=path, wrong="is wrong"), field_lines(text)).line


def test_a_field_is_found_by_its_path() -> None:
    assert line_of("evictionHard") == 2
    assert line_of("evictionHard[memory.available]") == 3
    assert (line_of("systemReserved[memory]"), line_of("systemReserved[cpu]")) == (4, 5)
    assert (line_of("ranking.later[0]"), line_of("ranking.later[0].labels[0]")) == (10, 11)


def test_a_missing_field_has_the_line_of_the_one_above_it() -> None:
    assert line_of("evictionHard[pid.available]") == 2
    assert line_of("ranking.later[0].names") == 10
    assert line_of("evictionSoft[memory.available]") is None


def test_what_two_documents_have_has_no_line() -> None:
    assert line_of("kind") is None


def test_each_document_has_lines_of_its_own() -> None:
    first, second = document_lines(TWO_DOCUMENTS)
    assert (first["kind"], second["kind"]) == (1, 7)
    assert (first[""], second[""]) == (1, 7)


@pytest.mark.parametrize("empty", ["", "# a comment", "~", "null"])
def test_an_empty_document_is_not_counted(empty: str) -> None:
    assert document_lines(f"---\n{empty}\n---\n\nkind: x\n") == [{"": 5, "kind": 5}]


def test_the_later_of_duplicates_has_the_line() -> None:
    assert line_of("a", "a: 1\nb: 2\na: 3\n") == 3


def test_an_alias_and_a_key_that_is_no_text_do_not_shift_the_others() -> None:
    assert line_of("c", "a: &a [1]\nb: *a\n? [x, y]\n: 1\nc: 2\n") == 5


def test_json_has_lines_and_a_text_that_is_no_yaml_has_none() -> None:
    assert line_of("a.b", json.dumps({"a": {"b": 1}}, indent=1)) == 3
    assert line_of("a", '{"a": "\x7f\n') is None


@pytest.mark.parametrize("text", ["[" * 100_000, "{" + "".join(f"{'k' * 50}{number}: {{" for number in range(900))])
def test_a_deep_text_takes_no_longer_than_a_flat_one(text: str) -> None:
    before = time.monotonic()
    field_lines(text)
    assert time.monotonic() - before < 5


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert all(line >= 1 for line in field_lines(text).values())
