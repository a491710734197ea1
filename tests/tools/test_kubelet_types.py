"""What the table of the kubelet's fields takes from the published types."""

from pathlib import Path

import pytest

from tools.kubelet_types import Field, fields, read_table, table

TYPES = """
type Other struct {
\tIgnored string `json:"ignored"`
}

type KubeletConfiguration struct {
\tmetav1.TypeMeta `json:",inline"`

\t// enableServer enables the server.
\t// Default: true
\tEnableServer *bool `json:"enableServer,omitempty"`
\t// Sysctls of pods.
\t// +optional
\tDefaultPodSysctls map[string]string `json:"defaultPodSysctls,omitempty"`
\t// Default: "5m"
\t// +optional
\tPeriod metav1.Duration `json:"period"`
}

type Last struct {
\tIgnored string `json:"last"`
}
"""
FIELDS = [
    Field("enableServer", "*bool", "true"),
    Field("defaultPodSysctls", "map[string]string", ""),
    Field("period", "metav1.Duration", '"5m"'),
]


def test_names_types_and_documented_defaults_are_taken() -> None:
    assert list(fields(TYPES)) == FIELDS


def test_a_file_without_the_type_is_refused() -> None:
    with pytest.raises(ValueError, match="no type KubeletConfiguration"):
        list(fields("package v1beta1"))


def test_a_table_is_read_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.kubelet_types.TABLES", tmp_path)
    (tmp_path / "fields-9.tsv").write_text(table(TYPES))
    assert read_table("9") == FIELDS
