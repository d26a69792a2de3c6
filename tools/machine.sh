# A bare Debian or Ubuntu in a temporary folder. Sourced by tools/fresh-machine and tools/test-packages, never run; needs root and
# debootstrap. The caller sets `tool`, its name in messages, and may set `keep` to yes.
#
#   make_machine SUITE [MIRROR]    sets `machine`, its folder; it is removed when the script ends
#   mount_in "OPTIONS" SOURCE PLACE
#   inside FOLDER COMMAND          with an environment as bare as the machine

mounted=()
clean_up() {
  local place
  for place in "${mounted[@]}"; do umount -l "$place" || true; done
  mounted=()
  # Never walk into something that is still mounted.
  if grep -q " $machine/" /proc/self/mounts; then echo "$tool: still mounted: $machine" >&2; return; fi
  if [[ ${keep:-no} == yes ]]; then echo "kept: $machine"; else rm -rf --one-file-system "$machine"; fi
}

# Without the right to mount (a container), go on: most things work.
mount_in() {
  mkdir -p "$machine/$3"
  if mount $1 "$2" "$machine/$3" 2>/dev/null; then
    mounted=("$machine/$3" "${mounted[@]}")
  else
    echo "$tool: note: could not mount $3" >&2
  fi
}

# The apt setup of this machine: options, and for its own release the sources, keys and preferences. Sources may name keys
# elsewhere.
copy_apt_setup() {
  local part key file parts=(apt.conf apt.conf.d)
  if [[ $1 == "$VERSION_CODENAME" ]]; then
    rm -f "$machine/etc/apt/sources.list"
    parts+=(sources.list sources.list.d trusted.gpg trusted.gpg.d keyrings preferences preferences.d)
  fi
  for part in "${parts[@]}"; do
    if [[ -e /etc/apt/$part ]]; then cp -aLT "/etc/apt/$part" "$machine/etc/apt/$part"; fi
  done
  for key in $(grep -hoE '/[^] ]+\.(gpg|asc)' -r /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | sort -u); do
    if [[ -f $key ]]; then install -D -m 644 "$key" "$machine$key"; fi
  done
  # Whom this machine trusts: a network that reads along has certificates of its own. The package ca-certificates makes
  # the second folder anew from the first when it is installed.
  for part in /usr/local/share/ca-certificates /etc/ssl/certs; do
    if [[ -d $part ]]; then mkdir -p "$machine$part" && cp -aLT "$part" "$machine$part"; fi
  done
  for file in /etc/resolv.conf /etc/hosts ${SSL_CERT_FILE:+"$SSL_CERT_FILE"}; do
    if [[ -f $file ]]; then mkdir -p "$machine$(dirname "$file")" && cp -L "$file" "$machine$file"; fi
  done
}

make_machine() {
  local suite=$1 mirror=${2:-} components
  . /etc/os-release
  if ((EUID != 0)); then echo "$tool: needs root, for chroot" >&2; exit 4; fi
  if ! command -v debootstrap >/dev/null; then echo "$tool: needs the package debootstrap" >&2; exit 4; fi
  machine=$(mktemp -d "${TMPDIR:-/tmp}/$tool.XXXXXX")
  trap clean_up EXIT
  trap "exit 130" INT TERM
  # Where packages come from: the repository of this machine, which has the other releases of its distribution too.
  case $suite in
    jammy | noble | plucky | questing) components=main,universe mirror=${mirror:-http://archive.ubuntu.com/ubuntu} ;;
    *) components=main ;;
  esac
  if [[ -z $mirror ]]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
      awk -v suite="$VERSION_CODENAME" '$2 == suite && $3 == "main" {print $1; exit}')
  fi
  if [[ -z $mirror ]]; then echo "$tool: no apt source for $VERSION_CODENAME; name one with --mirror" >&2; exit 4; fi
  # What apt would use to get there, debootstrap must use as well.
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  if [[ -n ${http_proxy:-} ]]; then export http_proxy; fi
  if [[ -n ${https_proxy:-} ]]; then export https_proxy; fi
  echo "== debootstrap $suite into $machine"
  debootstrap --variant=minbase --components="$components" "$suite" "$machine" "$mirror" >"$machine.log" 2>&1 || {
    tail -n 20 "$machine.log" >&2
    exit 1
  }
  rm -f "$machine.log"
  copy_apt_setup "$suite"
  mount_in '-t proc' proc proc
  mount_in '-t sysfs' sysfs sys
  mount_in '--bind' /dev dev
  mount_in '--bind' /dev/pts dev/pts
  if [[ ! -e $machine/dev/null ]]; then mknod -m 666 "$machine/dev/null" c 1 3; fi
}

inside() {
  local folder=$1 start=$SECONDS status=0
  shift
  echo "== $*"
  chroot "$machine" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true \
    DEBIAN_FRONTEND=noninteractive \
    ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    ${HEADLIGHT_JOBS:+HEADLIGHT_JOBS="$HEADLIGHT_JOBS"} \
    /bin/bash -c "cd '$folder' && $*" </dev/null || status=$?
  echo "== $* took $((SECONDS - start)) s, status $status"
  return "$status"
}
