"""`make verify-release` runs what docs/verify.md says, without what this release or this machine has not."""

import pytest

from evictd import __version__
from tests.tools.verify_release import PAGE, commands, main

BUNDLE = f"evictd-bundle-{__version__}.tar"
PAGE_TEXT = PAGE.read_text(encoding="utf-8")


def test_all_commands_that_need_only_the_files_are_run() -> None:
    text = "\n".join(commands(PAGE_TEXT, signed=True))
    for each in (
        "sha256sum --check --ignore-missing SHA256SUMS",
        "cosign verify-blob --key cosign.pub",
        "openssl dgst -sha256 -verify cosign.pub",
        'statement["subject"]',
        f"tar -xf {BUNDLE} install.sh",
        f"sh install.sh --key cosign.pub {BUNDLE} verify",
    ):
        assert each in text
    assert text.index("cosign verify-blob") < text.index("sha256sum --check"), (
        "the sums prove nothing before their signature"
    )
    assert "VERSION" not in text
    assert not {"REGISTRY", "ctr", "make"} & set(text.split())


def test_what_needs_a_signature_is_left_out() -> None:
    text = "\n".join(commands(PAGE_TEXT, signed=False))
    assert not {"cosign", "openssl"} & set(text.split())
    assert "--unsigned" in text
    assert "sha256sum --check --ignore-missing SHA256SUMS" in text


def test_a_release_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/none", "/none/cosign.pub"]) == 2
    assert "there is no file /none/SHA256SUMS" in capsys.readouterr().err
