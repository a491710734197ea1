#!/bin/sh
# Installs evictd from a bundle, without a network. Every file of the bundle is verified before one is written.
#
#   tar -xf BUNDLE install.sh
#   sh install.sh (--key cosign.pub | --unsigned) BUNDLE COMMAND
#
#   verify               compare the signature and all sums
#   unpack DIRECTORY     write all files into a new directory
#   image                import the image into containerd ($CTR, by default `ctr`; `k3s ctr` for k3s); on each node
#   package              install the Debian package for this machine's release
#   cluster OVERLAY      kubectl apply: beside-kubelet, instead-of-kubelet-eviction or dry-run; once
#
# Without --key only damage is found, no forgery: --unsigned says so. Exit status 1: not verified, and nothing was done; 2: usage.
set -eu

fail() { echo "install.sh: $2" >&2; exit "$1"; }
usage() { fail 2 "$1; usage: sh install.sh (--key FILE | --unsigned) BUNDLE verify|unpack DIRECTORY|image|package|cluster OVERLAY"; }

key=
case ${1-} in
  --key) key=${2-}; [ -f "$key" ] || fail 2 "there is no key ${key:-after --key}"; shift 2 ;;
  --unsigned) shift ;;
  *) usage "name the publisher's key (--key FILE), or --unsigned" ;;
esac
bundle=${1-} command=${2-} argument=${3-}
[ -f "$bundle" ] || usage "there is no bundle ${bundle:-named}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
member() { tar -xOf "$bundle" "$1"; }
bad() { fail 1 "$bundle: $1; nothing was installed"; }

verify() {
  tar -tf "$bundle" >"$work/names" 2>/dev/null || bad "is no complete tar archive"
  member SHA256SUMS >"$work/SHA256SUMS" 2>/dev/null || bad "has no SHA256SUMS"
  if [ -n "$key" ]; then
    command -v openssl >/dev/null || fail 2 "openssl is not installed; it compares the signature"
    member SHA256SUMS.sig 2>/dev/null | base64 -d >"$work/signature" 2>/dev/null || bad "has no signature"
    openssl dgst -sha256 -verify "$key" -signature "$work/signature" "$work/SHA256SUMS" >/dev/null 2>&1 ||
      bad "the signature of SHA256SUMS is not by $key"
  fi
  # The members are exactly the files with a sum: a second one of a name, a folder or a link would not be what was compared.
  { sed 's/^[0-9a-f]\{64\}  //' "$work/SHA256SUMS"; echo SHA256SUMS; } | sort >"$work/expected"
  grep -vx SHA256SUMS.sig "$work/names" | sort >"$work/found" || true
  cmp -s "$work/expected" "$work/found" ||
    bad "these files are missing, additional or twice there: $(comm -3 "$work/expected" "$work/found" | tr -s '\t\n' ' ')"
  while read -r sum name; do
    [ "$(member "$name" | sha256sum)" = "$sum  -" ] || bad "$name is not the file of the release"
  done <"$work/SHA256SUMS"
}

image() {
  name=$(grep '^evictd-image-.*\.tar$' "$work/expected")
  member "$name" | ${CTR:-ctr} --namespace k8s.io images import -
}

package() {
  release=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
  name=$(grep "^evictd_.*_$(dpkg --print-architecture)\.$release\.deb\$" "$work/expected") ||
    fail 2 "the bundle has no package for $(dpkg --print-architecture) of '$release': $(grep '\.deb$' "$work/expected" | tr '\n' ' ')"
  member "$name" >"$work/$name"
  chmod 755 "$work"
  # Not with --no-download, which Debian 12's apt takes with no file. So that nothing is fetched, the plan has to be this package alone.
  plan=$(LC_ALL=C apt-get install --simulate --no-install-recommends "$work/$name" 2>&1) || fail 2 "apt does not install $name: $plan"
  others=$(echo "$plan" | sed -n 's/^Inst \([^ ]*\).*/\1/p' | grep -vx evictd | tr '\n' ' ')
  [ -z "$others" ] || fail 2 "$name needs these packages of Debian; install them first: $others"
  apt-get install --yes --no-install-recommends "$work/$name"
}

cluster() {
  name=$(grep "^evictd-$1-[0-9].*\.yaml\$" "$work/expected") ||
    fail 2 "the bundle has no overlay '$1': $(grep '\.yaml$' "$work/expected" | tr '\n' ' ')"
  member "$name" | kubectl apply -f -
}

case $command in
  verify | image | package) ;;
  unpack)
    [ -n "$argument" ] || usage "unpack: name a directory"
    [ ! -e "$argument" ] || fail 2 "$argument exists; name a new directory"
    ;;
  cluster) [ -n "$argument" ] || usage "cluster: name an overlay" ;;
  *) usage "no command '$command'" ;;
esac
verify
case $command in
  verify) echo "$bundle: $(($(wc -l <"$work/SHA256SUMS"))) files are those of the release${key:+, signed by $key}" ;;
  unpack) mkdir "$argument" && tar -xf "$bundle" -C "$argument" --no-same-owner ;;
  cluster) cluster "$argument" ;;
  *) "$command" ;;
esac
