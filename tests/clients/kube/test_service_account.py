"""The files of a service account."""

from pathlib import Path

from evictd.clients.kube.service_account import SERVICE_ACCOUNT, service_account_files


def test_its_files_are_the_token_and_the_authority() -> None:
    assert service_account_files(SERVICE_ACCOUNT) == (str(SERVICE_ACCOUNT / "token"), str(SERVICE_ACCOUNT / "ca.crt"))
    assert Path("/var/run/secrets/kubernetes.io/serviceaccount") == SERVICE_ACCOUNT
