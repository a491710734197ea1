#!/bin/sh
# Makes the root filesystem of the test machine: Debian's packages, our files over them, one ext4 image.
# usage: provision.sh WORK OVERLAY MIRROR RELEASE   (as root, in a mount namespace of its own, which takes every mount away at the end)
# Leaves in WORK: disk.img (sparse), vmlinuz, initrd.img.
set -eu

work=$1 overlay=$2 mirror=$3 suite=$4
root=$work/root
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

systemd="systemd systemd-oomd systemd-sysv udev"
sources="deb $mirror $suite main"
if [ "$suite" = bookworm ]; then
    # Debian 12 has systemd 252; Type=notify-reload came with 253, so systemd is taken from the backports.
    systemd=$(printf "%s/$suite-backports " $systemd systemd-dev libsystemd-shared libsystemd0 libudev1)
    sources=$(printf '%s\ndeb %s %s-backports main' "$sources" "$mirror" "$suite")
fi
others="busybox-static containerd dbus e2fsprogs initramfs-tools iproute2 kmod linux-image-cloud-amd64 procps python3 runc"

# A debootstrap that is older than the release has no script for it.
scripts=/usr/share/debootstrap/scripts
script=$scripts/$suite
[ -e "$script" ] || script=$scripts/sid
debootstrap --variant=minbase "$suite" "$root" "$mirror" "$script"
cp -r "$overlay/." "$root/"
cp /etc/resolv.conf "$root/etc/resolv.conf"
printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # nothing is started while we install
chmod 755 "$root/usr/sbin/policy-rc.d"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
chroot "$root" apt-get update -q
# shellcheck disable=SC2086 # the lists are lists
chroot "$root" apt-get install -qy --no-install-recommends $systemd $others

chroot "$root" systemctl enable job.service containerd.service
# A getty would take the console from the job; the timers would wake up in the middle of it.
chroot "$root" systemctl mask serial-getty@ttyS0.service getty@tty1.service apt-daily.timer apt-daily-upgrade.timer \
    dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer systemd-tmpfiles-clean.timer
# Its package has the root slice start it; only bench_oom.py wants it, and unmasks it.
chroot "$root" systemctl mask systemd-oomd.service systemd-oomd.socket
chroot "$root" apt-get clean
umount "$root/proc"
rm -rf "$root/usr/sbin/policy-rc.d" "$root"/var/lib/apt/lists/* "$root"/var/log/*.log "$root"/var/log/apt
: >"$root/etc/resolv.conf" # the machine has no network
mkdir -p "$root/srv/job" "$root/var/lib/kubelet" "$root/var/log/pods"

cp "$root"/boot/vmlinuz-* "$work/vmlinuz"
cp "$root"/boot/initrd.img-* "$work/initrd.img"
rm -rf "$root"/boot/*
mke2fs -q -t ext4 -O ^has_journal -L root -d "$root" "$work/disk.img" 2G
rm -rf "$root"
