"""A file that was cut is refused or changes nothing."""

import pytest

from evictd.config.written import Written, faults

NAME = "/etc/evictd.yaml"
WHOLE = "kind: KubeletConfiguration\nevictionHard:\n  memory.available: 500Mi\n---\nkind: EvictdConfiguration\ndryRun: true\n"


def written(text: str, kinds: str = "KubeletConfiguration", fields: str = "") -> Written:
    return Written(texts={NAME: text}, kinds=frozenset(kinds.split()), fields=frozenset(fields.split()))


@pytest.mark.parametrize("end", range(1, len(WHOLE)))
def test_a_file_cut_at_any_byte_is_refused(end: int) -> None:
    assert list(faults(written(WHOLE), written(WHOLE[:end])))


def test_a_shorter_file_is_accepted_where_it_says_that_it_is_complete() -> None:
    short = WHOLE[: WHOLE.index("---")]
    assert list(faults(written(WHOLE), written(short))) == [
        f"{NAME}: is the beginning of the file in effect, as if it was cut; if it is meant so, end it with a line ..."
    ]
    assert not list(faults(written(WHOLE), written(short + "...\n")))


def test_an_edited_file_and_a_new_drop_in_are_accepted() -> None:
    edited = WHOLE.replace("500Mi", "1Gi")
    both = Written(texts={NAME: edited, "10.conf": "a: 1\n"}, kinds=frozenset({"KubeletConfiguration"}))
    assert not list(faults(written(WHOLE), both))


def test_a_lost_document_is_named() -> None:
    old = written("a\n", "KubeletConfiguration EvictdConfiguration")
    (line,) = faults(old, written("b\n"))
    assert line == "the document EvictdConfiguration is missing; write it, or restart evictd without it"


def test_a_dry_run_ends_only_where_it_is_written() -> None:
    (line,) = faults(written("a\n", fields="dryRun"), written("b\n"), switched_off=["dryRun"])
    assert line == "dryRun: is not set any more; write dryRun: false if it is to end"
    assert not list(faults(written("a\n"), written("b\n", fields="dryRun"), switched_off=["dryRun"]))


def test_json_needs_no_newline_at_its_end() -> None:
    assert not list(faults(written('{"a": 1}'), written('{"a": 2}')))
