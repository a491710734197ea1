"""JSON and YAML with the same content."""

import argparse
import io
import json

import pytest

from evictd.config.file import parse_documents
from evictd.render.output import JSON, TABLE, YAML, add_output_argument, write_document

DOCUMENT = {"kind": "X", "list": [1, {"a": None, "b": "no"}], "empty": {}, "text": 'a: "b"\n- ü', "yes": True}


@pytest.mark.parametrize("form", [JSON, YAML])
def test_what_is_written_can_be_read_again(form: str) -> None:
    out = io.StringIO()
    write_document(DOCUMENT, form, out)
    documents, problems = parse_documents(out.getvalue(), "x")
    assert (documents, problems) == ([DOCUMENT], [])


def test_json_is_json() -> None:
    out = io.StringIO()
    write_document(DOCUMENT, JSON, out)
    assert json.loads(out.getvalue()) == DOCUMENT


def test_a_table_is_the_default() -> None:
    parser = argparse.ArgumentParser()
    add_output_argument(parser)
    assert parser.parse_args([]).output == TABLE
