"""The defaults of the settings, and that every setting is used."""

import ast
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from evictd.codec.config.fields import settings_of
from evictd.config.file import load
from evictd.config.settings import ClusterSettings, EvictdConfiguration, KubeletConfiguration, Settings

SOURCE = Path(__file__).parents[2] / "src/evictd"


def test_the_defaults_of_the_type_are_those_of_no_configuration() -> None:
    assert replace(load(None), surprises=()) == Settings()


@pytest.mark.parametrize("cls", [EvictdConfiguration, KubeletConfiguration], ids=lambda one: one.__name__)
def test_every_setting_has_a_reader(cls: type[msgspec.Struct]) -> None:
    """A setting that nothing reads, and that sets nothing of the core, would be a promise to the user that is not kept."""
    files = [path for path in SOURCE.rglob("*.py") if "config" not in path.relative_to(SOURCE).parts]
    files += [SOURCE / "codec/config" / name for name in ("kubelet_fields.py", "kubelet_config.py")]
    files += [SOURCE / "config/settings.py"]
    read = {
        node.attr
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    unread = [
        each.name
        for each in settings_of(cls)
        if each.rule.has_effect and not each.rule.sets and each.attribute.rpartition(".")[2] not in read
    ]
    assert unread == []


def test_without_a_kubeconfig_there_is_no_cluster() -> None:
    assert ClusterSettings().standalone
    assert not ClusterSettings(kubeconfig="in-cluster").standalone
