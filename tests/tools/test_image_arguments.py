"""The arguments of `python -m tools.image`."""

from pathlib import Path

import pytest

from tools import image


@pytest.mark.parametrize(("arguments", "status"), [(["--help"], 0), (["-x.tar"], 2), ([], 2), (["a.tar", "vax"], 2)])
def test_a_wrong_argument_writes_no_archive(
    arguments: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--help` wrote an archive with that name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(image, "write_image", None)
    with pytest.raises(SystemExit) as caught:
        image.main(arguments)
    assert caught.value.code == status
    assert not list(tmp_path.iterdir())
