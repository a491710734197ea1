"""Makes pods and nodes for tests from recorded ones, so that they have all real fields."""

import copy
import json
import uuid
from pathlib import Path

from tests.kube.store import Json

SAMPLES = Path(__file__).parent.parent / "data" / "samples"


def sample(name: str) -> Json:
    """A recorded object from `tests/data/samples`."""
    loaded: Json = json.loads((SAMPLES / f"{name}.json").read_text())
    return loaded


def node(name: str = "n1", *, kubelet: bool = True) -> Json:
    """The recorded node under another name; without a kubelet it has none of its conditions."""
    made = copy.deepcopy(sample("node"))
    made["metadata"]["name"] = name
    found = made["status"]["conditions"] if kubelet else []
    made["status"]["conditions"] = [item for item in found if not item["type"].startswith("Evictd")]
    return made


def pod(
    name: str,
    *,
    node_name: str = "n1",
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    owner: tuple[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    uid: str = "",
) -> Json:
    """A running pod of one container, as the API server shows it."""
    made: Json = copy.deepcopy(sample("pods")["items"][0])
    made["metadata"].update(
        name=name, namespace=namespace, uid=uid or str(uuid.uuid4()), labels=labels or {}, annotations=annotations or {}
    )
    if owner:
        reference = {
            "apiVersion": "apps/v1",
            "kind": owner[0],
            "name": owner[1],
            "uid": str(uuid.uuid4()),
            "controller": True,
        }
        made["metadata"]["ownerReferences"] = [reference]
    made["spec"]["nodeName"] = node_name
    return made


def pod_list(*items: object) -> bytes:
    """The answer of the API server to a list of pods."""
    made = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": items}
    return json.dumps(made).encode()


def padded(made: Json, size: int) -> Json:
    """Pad the pod's managed fields, the large part of real pods, to `size` bytes of JSON."""
    fields: Json = {}
    entry = {
        "manager": "kubelet",
        "operation": "Update",
        "apiVersion": "v1",
        "subresource": "status",
        "time": "2026-11-21T01:55:20Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": fields},
    }
    made["metadata"]["managedFields"] = [entry]
    step = 0
    while len(json.dumps(made)) < size:
        fields[f'k:{{"type":"Condition{step}"}}'] = {".": {}, "f:lastProbeTime": {}, "f:status": {}, "f:type": {}}
        step += 1
    return made
