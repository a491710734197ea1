"""Says where a pod finds the credential of its service account.

It has no import of a client: `evictd check`, which each reload of the service runs, asks for these files too.
"""

from pathlib import Path

IN_CLUSTER = "in-cluster"
"""The value of `cluster.kubeconfig` for the service account of evictd's own pod."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def service_account_files(folder: Path) -> tuple[str, str]:
    """Return the files of a projected service account that evictd reads."""
    return str(folder / "token"), str(folder / "ca.crt")
