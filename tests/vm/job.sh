#!/bin/sh
# Runs inside the machine, started by job.service: the checks of tests/vm/guest, their results into out/.
# An argument EVICTD_NAME=VALUE sets a variable; the others are pytest's.
echo 'the job begins' # machine.py waits for this line
export PYTHONPATH=/srv/job/site:/srv/job/src EVICTD_VM=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 COLUMNS=120 HOME=/root LANG=C.UTF-8
cut -d' ' -f1 /proc/uptime >out/boot-seconds
{
    echo "Linux $(uname -r)"
    systemctl --version | head -n 1
    containerd --version
    runc --version | head -n 1
    python3 --version
} >out/versions
set --
while IFS= read -r argument; do
    case $argument in
    EVICTD_*=*) export "${argument?}" ;;
    *) set -- "$@" "$argument" ;;
    esac
done <arguments
# A test with its fixtures takes up to 350 s where the emulated processors get a tenth of the host's.
python3 -m pytest --timeout=900 -p no:cacheprovider --junitxml=out/junit.xml -v --no-header --color=no --confcutdir=tests/vm/guest "$@" tests/vm/guest
journalctl --no-pager --boot >out/journal.txt
sync
