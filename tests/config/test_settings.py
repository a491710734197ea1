"""The settings' own defaults are those of an absent configuration."""

from dataclasses import replace

from evictd.config.file import load
from evictd.config.settings import ClusterSettings, Settings


def test_the_defaults_of_the_type_are_those_of_no_configuration() -> None:
    assert replace(load(None), warnings=()) == Settings()


def test_without_a_kubeconfig_there_is_no_cluster() -> None:
    assert ClusterSettings().standalone
    assert not ClusterSettings(kubeconfig="in-cluster").standalone
