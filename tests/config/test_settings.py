"""The defaults of the settings, and that every setting is used."""

import ast
from dataclasses import fields, replace
from pathlib import Path

import pytest

from evictd.config.file import load
from evictd.config.settings import ClusterSettings, JournalSettings, Settings

SOURCE = Path(__file__).parents[2] / "src/evictd"


def test_the_defaults_of_the_type_are_those_of_no_configuration() -> None:
    assert replace(load(None), warnings=()) == Settings()


@pytest.mark.parametrize("cls", [Settings, ClusterSettings, JournalSettings], ids=lambda one: one.__name__)
def test_every_setting_has_a_reader(cls: type) -> None:
    """Outside the configuration itself; a setting that nothing reads would be a promise to the user that is not kept."""
    files = [path for path in SOURCE.rglob("*.py") if "config" not in path.relative_to(SOURCE).parts]
    read = {
        node.attr
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    assert [one.name for one in fields(cls) if one.name not in read] == []


def test_without_a_kubeconfig_there_is_no_cluster() -> None:
    assert ClusterSettings().standalone
    assert not ClusterSettings(kubeconfig="in-cluster").standalone
