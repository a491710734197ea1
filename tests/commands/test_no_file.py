"""A path that is a directory, or that is not there, is answered with the files that may be meant."""

from pathlib import Path

import pytest

from evictd.commands.inputs.no_file import is_directory, is_there, refuse_directory, require_writable, with_examples
from evictd.errors import InputError
from tests.locked import locked_directory

EXAMPLES = "examples are elsewhere"


def refusal(path: Path, meant: str) -> str:
    with pytest.raises(InputError) as caught:
        refuse_directory(path, lambda file: meant in file.read_text(), EXAMPLES)
    return str(caught.value).replace(str(path), "DIR")


def test_a_directory_is_answered_with_the_files_that_are_meant_or_with_its_directories_that_have_some(
    tmp_path: Path,
) -> None:
    """`simulate config` named five configurations, of which none can be simulated."""
    for name, text in (("b.yaml", "kind: A"), ("a.json", "kind: A"), ("x.yaml", ""), ("inner/c.yaml", "kind: B")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "notes.txt").write_text("kind: A kind: C")
    assert refusal(tmp_path, "kind: A") == "DIR: is a directory; give one of its files: DIR/a.json, DIR/b.yaml"
    assert refusal(tmp_path, "kind: B") == "DIR: is a directory; give a file of DIR/inner"
    assert refusal(tmp_path, "kind: C") == f"DIR: is a directory; {EXAMPLES}"
    refuse_directory(tmp_path / "notes.txt", lambda _: False, EXAMPLES)


def test_no_file_has_a_name_with_a_nul() -> None:
    """`evictd why` of a pod whose name in the journal has one ended with a traceback."""
    assert not is_there(Path("shop/\0"))
    assert not is_directory(Path("shop/\0"))


def test_a_path_that_this_user_may_not_look_at_is_left_to_its_reading(tmp_path: Path) -> None:
    """With Python 3.11 `check`, `explain` and `simulate` ended with 3, as if the node were not reached."""
    with locked_directory(tmp_path, b"{}") as folder:
        file = folder / "journal.jsonl"
        assert (is_there(file), is_directory(file)) == (True, False)
        refuse_directory(file, lambda _: False, EXAMPLES)
        fault = InputError(f"{file}: Permission denied")
        assert with_examples(fault, file, EXAMPLES) is fault
    assert (is_there(tmp_path / "none"), is_directory(tmp_path / "none")) == (False, False)
    assert (is_there(tmp_path / ("x" * 5000)), is_directory(tmp_path / ("x" * 5000))) == (False, False)
    assert (is_there(tmp_path), is_directory(tmp_path)) == (True, True)


def test_a_file_that_is_not_there_is_answered_with_the_examples(tmp_path: Path) -> None:
    fault, near = InputError("f: No such file or directory"), InputError("f: did you mean g?")
    assert with_examples(fault, tmp_path / "f", EXAMPLES).problems == (f"f: No such file or directory; {EXAMPLES}",)
    assert with_examples(near, tmp_path / "f", EXAMPLES) is near
    assert with_examples(fault, tmp_path, EXAMPLES) is fault, "what is there has another fault"
    assert with_examples(fault, Path("-"), EXAMPLES) is fault


def test_an_output_file_that_cannot_be_written_is_refused_with_the_reason(tmp_path: Path) -> None:
    require_writable(tmp_path / "new.yaml", "--out")
    for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "no" / "x.yaml", "No such file or directory")):
        with pytest.raises(InputError, match=f"--out: {path}: {reason}"):
            require_writable(path, "--out")


def test_an_output_file_that_this_user_may_not_write_is_refused(tmp_path: Path) -> None:
    with locked_directory(tmp_path, b"") as locked, pytest.raises(InputError, match="Permission denied"):
        require_writable(locked / "x.yaml", "--out")
