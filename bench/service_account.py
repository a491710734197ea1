"""Runs a command with a service account where a pod has it, so that evictd takes it as `in-cluster`.

    unshare --mount --propagation slave python -m bench.service_account FOLDER COMMAND ...

FOLDER has `token` and `ca.crt`. They are copied to a tmpfs over /run, which only this process and its children see: the caller
starts it in a mount namespace of its own. The process becomes the command, so its id stays.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from evictd.clients.kube.service_account import SERVICE_ACCOUNT, service_account_files


def in_cluster(folder: Path, command: list[str]) -> list[str]:
    """Return the command line that runs a command with the service account of a folder."""
    return [
        *("unshare", "--mount", "--propagation", "slave"),
        *(sys.executable, "-m", "bench.service_account", str(folder), *command),
    ]


def main(folder: Path, command: list[str]) -> None:
    """Mount the files and become the command; /var/run, where evictd reads them, is a symlink to /run."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    SERVICE_ACCOUNT.mkdir(parents=True)
    for file in service_account_files(folder):
        shutil.copy(file, SERVICE_ACCOUNT)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
