# Shared by ./run, ./test and the scripts in tools/. Sourced, never run. The caller sets `root` (the checkout)
# and `log` (where the noise of compilers goes).

# Packages of Debian 12 and 13 and Ubuntu 24.04. "a|b": the first of them that the system knows; "a|": left out where it
# is unknown.
PROGRAM_PACKAGES=(g++ cmake ninja-build ccache pkg-config libhwy-dev libfmt-dev libcli11-dev libsimdjson-dev)
PROGRAM_PACKAGES+=(libtomlplusplus-dev zlib1g-dev libutf8proc-dev libpcre2-dev libcairo2-dev libpango1.0-dev fonts-dejavu-core)
PROGRAM_PACKAGES+=(libcpp-httplib-dev)
PROGRAM_PACKAGES+=(libopenblas0-pthread)  # opened at run time by `headlight bench`, as the peer to compare with
TEST_PACKAGES=(libgtest-dev libgmock-dev 'clang-format-14|clang-format' python3 python3-numpy poppler-utils)
TEST_PACKAGES+=(python3-dev python3-venv python3-pip mypy)  # the Python package
TEST_PACKAGES+=(python3-markdown)  # the documentation site
TEST_PACKAGES+=(nodejs 'chromium|')  # the viewer's page, built and looked at; Ubuntu has no such package
TEST_PACKAGES+=(openmpi-bin libopenmpi-dev)  # headlight::dist
RELEASE_PACKAGES=(python3-dev libopenmpi-dev openmpi-bin dpkg-dev lintian patchelf)  # tools/make-packages
AARCH64_PACKAGES=(g++-aarch64-linux-gnu qemu-user googletest libhwy-dev cmake ninja-build)
MPICH_PACKAGES=(mpich libmpich-dev)
FULL_PACKAGES=(clang clang-tidy libclang-rt-dev "${AARCH64_PACKAGES[@]}" "${MPICH_PACKAGES[@]}")
TEST_PACKAGES+=(hunspell hunspell-en-us)  # the spelling of documents and messages

# What the program refuses with when the file system says no (docs: exit codes); also used for packages.
EXIT_MISSING=4

# Colour only for a person at a terminal who did not ask us to stop.
if [[ -t 3 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
  green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'
else
  green='' red='' plain=''
fi

job_count() { echo "${HEADLIGHT_JOBS:-$(nproc 2>/dev/null || echo 2)}"; }

now_ms() { local t=${EPOCHREALTIME/[.,]/}; echo $((t / 1000)); }

seconds_since() { local ms=$(($(now_ms) - $1)); printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100)); }

# say COLOUR NAME RESULT START: the one line of a phase. File descriptor 3 is where phases are told.
say() { printf '%-11s %s%-44s%s %9s\n' "$2" "$1" "$3" "$plain" "$(seconds_since "$4")" >&3; }

# phase NAME RESULT COMMAND...: runs COMMAND with its output in the log, and tells how long it took.
phase() {
  local name=$1 result=$2 start status=0
  shift 2
  start=$(now_ms)
  printf '\n== %s: %s\n' "$name" "$*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null || status=$?
  if ((status == 0)); then
    say "$green" "$name" "$result" "$start"
  elif ((status == 77)); then
    say '' "$name" "skipped: $(tail -n 1 "$log")" "$start"
  else
    say "$red" "$name" "$result: FAILED, see ${log#"$root"/}" "$start"
  fi
  return "$status"
}

# The end of the log, for a reader who cannot open it (a CI page).
show_log_tail() { echo "--- last lines of ${log#"$root"/}" >&2; tail -n "${1:-40}" "$log" >&2; }

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == 'ii '* ]]; }

is_known() { [[ -n $(apt-cache show --no-all-versions "$1" 2>/dev/null) ]]; }

# missing_packages CHOICE...: of each choice that is not installed, the first package that apt knows. Before apt has been
# updated it may know none; then the first one, or nothing if the system can do without.
missing_packages() {
  local choice name names
  for choice in "$@"; do
    IFS='|' read -ra names <<<"$choice"
    for name in "${names[@]}"; do
      if is_installed "$name"; then continue 2; fi
    done
    for name in "${names[@]}"; do
      if is_known "$name"; then echo "$name"; continue 2; fi
    done
    [[ $choice == *'|' ]] || echo "${names[0]}"
  done
}

apt_get() { DEBIAN_FRONTEND=noninteractive "$@" apt-get -o DPkg::Lock::Timeout=300 "${apt_args[@]}"; }

# ensure_packages NAME...: installs what is missing; asks the network nothing when all is there.
ensure_packages() {
  local start missing as=()
  start=$(now_ms)
  if ! command -v dpkg-query >/dev/null; then
    say '' packages "not a Debian system; needed: $*" "$start"
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    say "$green" packages ready "$start"
    return 0
  fi
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
      as=(sudo --preserve-env=DEBIAN_FRONTEND)
    else
      echo "These Debian packages are missing: ${missing[*]}" >&2
      echo "  As root: apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
      exit "$EXIT_MISSING"
    fi
  fi
  printf '\n== packages: %s\n' "${missing[*]}" >>"$log"
  apt_args=(update)
  if apt_get "${as[@]}" >>"$log" 2>&1; then
    mapfile -t missing < <(missing_packages "$@")
    echo "installing ${missing[*]}" >&3
    apt_args=(install -y --no-install-recommends "${missing[@]}")
    if apt_get "${as[@]}" >>"$log" 2>&1; then
      say "$green" packages "installed ${#missing[@]}" "$start"
      return 0
    fi
  fi
  show_log_tail 15
  echo "apt-get could not install: ${missing[*]}" >&2
  exit "$EXIT_MISSING"
}

# configure PRESET [-DNAME=VALUE...]: runs CMake when the build folder is new or an option differs. Ninja itself
# notices changed CMake files later, so a second run starts at once.
configure() {
  local preset=$1 build=$root/build/$1 option
  shift
  if [[ -f $build/CMakeCache.txt ]] && ! grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    rm -rf "$build"  # the checkout was moved or copied; CMake refuses such a folder
  fi
  local fresh=yes
  [[ -f $build/build.ninja ]] || fresh=no
  for option in "$@"; do
    local name=${option#-D}
    grep -q "^${name%%=*}:[A-Z]*=${name#*=}$" "$build/CMakeCache.txt" 2>/dev/null || fresh=no
  done
  if [[ $fresh == yes ]]; then
    say "$green" configure "$preset: ready" "$(now_ms)"
    return 0
  fi
  (cd "$root" && phase configure "$preset" cmake --preset "$preset" "$@")
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  phase build "$preset${*:+: $*}" cmake --build "$root/build/$preset" --parallel "$(job_count)" ${*:+--target "$@"}
}
