"""The Helm chart: its values have a schema that refuses mistakes, and with the default values it is the base of kustomize.

It is rendered by Helm itself, as a library.
"""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from evictd.config.file import load
from tests.deploy.manifests import CHART, Json, base, documents
from tests.kube import models

helm_python = pytest.importorskip("helm_python", reason="has no wheel for this machine")

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
(VALUES,) = documents(CHART / "values.yaml")


def changed(path: str, value: object) -> Json:
    """The default values with one of them changed; `None` takes it out."""
    made = copy.deepcopy(VALUES)
    *way, last = path.split(".")
    place = made
    for name in way:
        place = place[name]
    place.pop(last, None)
    if value is not None:
        place[last] = value
    return made


def rendered(values: Json) -> dict[tuple[str, str], Json]:
    """What Helm makes of the chart, by kind and name."""
    with helm_python.Chart.load(str(CHART)) as chart:
        texts = list(chart.render(values, name="evictd", namespace="evictd").values())
    items = [item for text in texts for item in yaml.safe_load_all(text) if item]
    return {(item["kind"], item["metadata"]["name"]): item for item in items}


def test_the_default_values_fit_their_schema() -> None:
    """And the schema is one."""
    of_schemas = jsonschema.Draft7Validator(jsonschema.Draft7Validator.META_SCHEMA)
    assert list(of_schemas.iter_errors(SCHEMA)) == []
    assert list(jsonschema.Draft7Validator(SCHEMA).iter_errors(VALUES)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("image.tag", "latest"),
        ("image.tag", None),
        ("image.pullpolicy", "Always"),
        ("resources.memory", "lots"),
        ("resources.limits", {}),
        ("containerd.root", "var/lib/containerd"),
        ("evictd.cluster.podTermination", "Kill"),
        ("evictd.cluster.kubeconfig", ""),
        ("evictd.cluster.conditionType", "Own"),
        ("replicas", 3),
        ("evictionAPI", False),
    ],
)
def test_mistakes_are_refused(path: str, value: object) -> None:
    """Misspelt, missing, out of range; and no Eviction API while the configuration would use it."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed(path, value), SCHEMA)


def test_with_the_default_values_it_is_the_base(tmp_path: Path) -> None:
    """Object by object, but for the generated name of the ConfigMap and the checksum that goes with it."""
    made = rendered(VALUES)
    daemon = made[("DaemonSet", "evictd")]
    del daemon["spec"]["template"]["metadata"]["annotations"]
    config = made.pop(("ConfigMap", "evictd"))
    expected = {(item["kind"], item["metadata"]["name"]): item for item in base() if item["kind"] != "Namespace"}
    assert made == expected
    (tmp_path / "config.yaml").write_text(config["data"]["config.yaml"])
    settings = load(tmp_path / "config.yaml")
    assert (settings.cluster.kubeconfig, settings.warnings) == ("in-cluster", ())


def test_every_rendered_object_fits_the_types_of_the_api() -> None:
    """Also with the values that take parts away."""
    values = changed("evictionAPI", False)
    values["evictd"]["cluster"]["podTermination"] = "Delete"
    values["admissionPolicy"] = False
    made = rendered(values)
    assert [fault for item in made.values() for fault in models.faults(item)] == []
    assert ("ValidatingAdmissionPolicy", "evictd-own-node") not in made
    rules = made[("ClusterRole", "evictd")]["rules"]
    assert not any("pods/eviction" in rule["resources"] for rule in rules)
