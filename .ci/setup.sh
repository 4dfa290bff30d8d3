# What ./quickstart and ./check share: steps that report themselves, and the set-up of a machine.
#
# Sourced by bash from the repository's root, with `set -euo pipefail`. Nothing here asks a question. Every set-up step looks
# first and does only what is missing, so that running a command again costs seconds. Downloads come from apt and PyPI alone,
# through the machine's own configuration of both.
#
# Exit codes of both commands: 0 done, 1 a step failed, 2 wrong usage, 5 packages are missing and this user cannot install them.

readonly exit_failed=1 exit_usage=2 exit_packages=5

# Needed to build and run. A name after the colon is a command that serves as well, wherever it came from.
readonly packages_to_build=(
  g++:g++ cmake:cmake ninja-build:ninja git:git python3:python3 ca-certificates util-linux:taskset
  libeigen3-dev libnlopt-cxx-dev libsqlitecpp-dev libsqlite3-dev libcli11-dev libfmt-dev libboost-dev libssl-dev zlib1g-dev
  libjpeg62-turbo-dev libre2-dev libhwloc-dev)
# What the example campaign tries beside the defaults: a second compiler (66 MB, seconds), two allocators, and a framework in an
# environment of its own.
readonly packages_to_tune=(clang-19:clang++-19 libjemalloc2 libtcmalloc-minimal4 python3-venv)
# What some tests need and are skipped without: containers and a registry of images, environments of Python, make, a browser.
readonly packages_to_skip_nothing=(charliecloud:ch-run podman:podman runc:runc docker-registry:docker-registry openssl:openssl
  slurm-wlm:sbatch slurm-wlm-basic-plugins faketime:faketime python3-venv python3-numpy make:make binutils:readelf dpkg-dev:dpkg-source
  mmdebstrap:mmdebstrap chromium-headless-shell:chromium-headless-shell fonts-dejavu-core)
readonly packages_to_lint=(clang-19:clang++-19 clang-tidy-19:clang-tidy-19)
readonly packages_to_fuzz=(clang-19:clang++-19 libclang-rt-19-dev)  # the compiler, libFuzzer and the sanitizers' runtime
readonly catch2_major=3

begin_log() {  # begin_log NAME NUMBER_OF_STEPS: what the steps print goes to .cache/log/NAME.log
  mkdir -p .cache/log
  log=.cache/log/$1.log step_count=$2 step_index=0
  date --utc '+%Y-%m-%dT%H:%M:%SZ' >"$log"
}

note() { printf '%s' "$*" >"$log.note"; }  # A step calls this to add a word to its line.

announce() {  # announce TEXT: begins a step's line
  step_index=$((step_index + 1)) step_began=$EPOCHREALTIME
  printf '[%2d/%d] %s ... ' "$step_index" "$step_count" "$1"
}

seconds_of_step() { awk -v a="$step_began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }'; }

show_progress() {  # Behind a step's line, in place: the last "[n/m]" that ninja wrote to the log since byte $1; until it is killed.
  local shown=
  trap 'printf "%*s\e[%dD" "${#shown}" "" "${#shown}"; exit' TERM
  while kill -0 $$ 2>/dev/null; do
    shown=$(tail -c "+$1" "$log" | tail -c 4096 | grep -o '^\[[0-9]*/[0-9]*\]' | tail -n 1 || true)
    [[ -z $shown ]] || printf '%s\e[%dD' "$shown" "${#shown}"
    sleep 1 &
    wait $!
  done
}

step() {  # step TEXT COMMAND [ARGUMENT...]: runs it with its output in the log; one line on the terminal; ends the script if it fails
  local text=$1 status watcher=
  shift
  announce "$text"
  printf '\n=== %s: %s\n' "$text" "$*" >>"$log"
  rm -f "$log.note"
  if [[ -t 1 ]]; then
    show_progress "$(wc -c <"$log")" &
    watcher=$!
  fi
  set +e
  (set -e; "$@") >>"$log" 2>&1 </dev/null  # a subshell, for `set -e` does nothing inside a condition
  status=$?
  if [[ $watcher ]]; then kill "$watcher"; wait "$watcher" 2>/dev/null; fi
  set -e
  if ((status != 0)); then
    printf 'FAILED after %s\n\n' "$(seconds_of_step)"
    tail -n 25 "$log"
    printf '\nThe whole log: %s\n' "$PWD/$log"
    exit $exit_failed
  fi
  printf '%s%s\n' "$(seconds_of_step)" "$([[ -e $log.note ]] && printf ' (%s)' "$(<"$log.note")")"
  rm -f "$log.note"
}

jobs_that_fit() {  # One compiler a core, but a file of ours may take 1.5 GiB to compile.
  local cores by_memory
  cores=$(nproc)
  by_memory=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null || echo "$cores")
  ((by_memory >= 1)) || by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}

# --- Debian packages ------------------------------------------------------------------------------------------------------

installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

installed_major() {  # installed_major PACKAGE: the number before the first dot, nothing if absent
  if installed "$1"; then dpkg-query -W -f '${Version}' "$1" | sed 's/^[0-9]*://; s/[^0-9].*//'; fi
}

packages_missing() {  # packages_missing PACKAGE[:COMMAND]...: prints the names that are not there, one a line
  local entry
  for entry in "$@"; do
    if [[ $entry == *:* ]] && command -v "${entry#*:}" >/dev/null; then continue; fi
    installed "${entry%%:*}" || echo "${entry%%:*}"
  done
}

catch2_missing() {
  local major
  major=$(installed_major catch2)
  ((${major:-0} < catch2_major))
}

suite_of_system() { (. /etc/os-release && echo "${VERSION_CODENAME:-}"); }

# Prints what apt should install to get Catch2 3: the plain name where the suite has it, else the one of backports.
catch2_for_apt() {
  local major
  major=$(apt-cache policy catch2 | awk '/Candidate:/ { sub(/^[0-9]+:/, "", $2); sub(/[^0-9].*/, "", $2); print $2 }')
  if ((${major:-0} >= catch2_major)); then echo catch2; else echo "catch2/$(suite_of_system)-backports"; fi
}

backports_known() { apt-get indextargets --format '$(CODENAME)' 'Identifier: Packages' 2>/dev/null | grep -x "$1-backports" >/dev/null; }

# Adds the backports beside the entry the system itself comes from: the same mirror and the same keyring, only the suite differs.
add_backports() {
  local suite entry file number
  suite=$(suite_of_system)
  if backports_known "$suite"; then return; fi
  entry=$(apt-get indextargets --format '$(CODENAME) $(SOURCESENTRY)' 'Identifier: Packages' 2>/dev/null |
    awk -v suite="$suite" '$1 == suite && !seen++ { print $2 }')
  if [[ -z $entry ]]; then
    echo "apt has no entry for $suite to take the backports' mirror from"
    return 1
  fi
  file=${entry%:*} number=${entry##*:}
  if [[ $file == *.sources ]]; then  # stanzas; apt counts them
    awk -v n="$number" 'BEGIN { RS = "" } NR == n' "$file" | grep -v '^#' |
      sed "s/^Suites:.*/Suites: $suite-backports/" >/etc/apt/sources.list.d/nocturne-backports.sources
  else  # one line an entry
    sed -n "${number}p" "$file" | sed "s/ $suite / $suite-backports /" >/etc/apt/sources.list.d/nocturne-backports.list
  fi
  apt-get update -qq
}

apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq --no-install-recommends -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 "$@"
}

install_packages() {  # install_packages WITH_CATCH2 PACKAGE...
  local with_catch2=$1
  shift
  apt-get update -qq || echo "apt could not refresh every list; the lists at hand may do"
  if (($#)); then apt_install "$@"; fi
  if ((with_catch2)); then
    if [[ $(catch2_for_apt) == */* ]]; then add_backports; fi
    apt_install "$(catch2_for_apt)"
  fi
  note "$(($# + with_catch2)) installed"
}

# need_packages WITH_CATCH2 PACKAGE[:COMMAND]...: a step. Installs what is missing; a user who may not is told the one line.
need_packages() {
  local with_catch2=$1 missing
  shift
  if ! command -v dpkg-query >/dev/null; then
    announce "Debian packages"
    echo "skipped: not a Debian system, CMake will say what it misses"
    return
  fi
  onednn_present || set -- "$@" python3-pip
  ((${with_clang_format:-0} == 0)) || clang_format_present || set -- "$@" python3-pip
  ((${with_cuda:-0} == 0)) || cuda_present || set -- "$@" python3-pip
  ((${with_cuda:-0} + ${frontend:-0} == 0)) || cudnn_frontend_present || set -- "$@" python3-pip
  ((EUID != 0)) || json_present || set -- "$@" nlohmann-json3-dev
  ((EUID != 0)) || chart_js_present || set -- "$@" libjs-chart.js
  read -r -d '' -a missing <<<"$(packages_missing "$@")" || true
  if ((with_catch2)) && ! catch2_missing; then with_catch2=0; fi
  if ((${#missing[@]} + with_catch2 == 0)); then
    announce "Debian packages"
    echo "all there"
  elif ((EUID == 0)); then
    step "Debian packages: $((${#missing[@]} + with_catch2)) to install" install_packages "$with_catch2" "${missing[@]}"
  else
    announce "Debian packages"
    if ((with_catch2)); then missing+=("$(catch2_for_apt)"); fi
    printf 'missing, and only root may install them:\n\n  sudo apt-get install --no-install-recommends %s\n\n' "${missing[*]}"
    if [[ ${missing[*]} == *-backports* ]] && ! backports_known "$(suite_of_system)"; then
      echo "Catch2 $catch2_major comes from the $(suite_of_system)-backports, which apt does not know here yet: add that suite first."
    fi
    exit $exit_packages
  fi
}

# --- Into .deps/: what is not installed into the system ---------------------------------------------------------------------

onednn_present() {
  [[ -e .deps/onednn/lib/cmake/dnnl/dnnl-config.cmake ]] || (($(installed_major libdnnl-dev | grep . || echo 0) >= 3))
}

# The wheels are unpacked rather than installed: where pip puts a wheel's data under --prefix differs between Pythons. The
# wheel holds the library three times, for it cannot hold links.
unpack_onednn() {
  local work=.deps/onednn.unpacking python=python3 wheel
  rm -rf "$work"
  mkdir -p "$work/wheels" "$work/prefix"
  $python -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
  $python -m pip download --quiet --no-deps --only-binary :all: --require-hashes -r .ci/onednn.txt -d "$work/wheels"
  for wheel in "$work"/wheels/*.whl; do
    python3 -m zipfile -e "$wheel" "$work/unpacked"
  done
  cp -a "$work"/unpacked/*.data/data/. "$work/prefix/"
  ln -sf libdnnl.so.3.2 "$work/prefix/lib/libdnnl.so.3"
  ln -sf libdnnl.so.3.2 "$work/prefix/lib/libdnnl.so"
  mv -T "$work/prefix" .deps/onednn  # the last step, so that an incomplete one is never taken for whole
  rm -rf "$work"
}

need_onednn() {
  if onednn_present; then
    announce "oneDNN"
    echo "there"
  else
    step "oneDNN 3.2 from PyPI, into .deps/onednn" unpack_onednn
  fi
}

# nvcc and cuDNN, for the GPU worker. The toolkit's own places are looked at first, as CMake's modules do (kernels/cuda/cmake).
cuda_present() {
  local nvcc=0 cudnn=0 header
  if command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc || -x .deps/cuda/nvidia/cu13/bin/nvcc ]]; then nvcc=1; fi
  for header in /usr/local/cuda/include /usr/local/include /usr/include .deps/cuda/nvidia/cudnn/include; do
    if [[ -e $header/cudnn_version.h ]]; then cudnn=1; fi
  done
  ((nvcc && cudnn))
}

# Whether the system shows an NVIDIA GPU.
gpu_seen() { [[ -e /dev/nvidia0 || -e /dev/dxg ]] || nvidia-smi -L >/dev/null 2>&1; }

# The versions belong together: nvcc refuses newer parts of itself. 1.5 GB to download.
unpack_cuda() {
  local work=.deps/cuda.unpacking python=python3
  rm -rf "$work"
  mkdir -p "$work/wheels" "$work/prefix"
  $python -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
  $python -m pip download --quiet --no-deps --only-binary :all: --require-hashes -r .ci/cuda.txt -d "$work/wheels"
  local wheel
  for wheel in "$work"/wheels/*.whl; do
    python3 -m zipfile -e "$wheel" "$work/prefix"
    rm "$wheel"
  done
  chmod +x "$work"/prefix/nvidia/cu13/bin/* "$work"/prefix/nvidia/cu13/nvvm/bin/* # a zip's permissions are not unpacked
  mv -T "$work/prefix" .deps/cuda  # the last step, so that an incomplete one is never taken for whole
  rm -rf "$work"
}

need_cuda() {
  if cuda_present; then
    announce "nvcc and cuDNN"
    echo "there"
  else
    step "nvcc 13.0 and cuDNN 9 from PyPI, into .deps/cuda (1.5 GB)" unpack_cuda
  fi
}

cudnn_frontend_present() { [[ -e .deps/cudnn-frontend/include/cudnn_frontend.h ]]; }

# Only its headers are kept. Without them the GPU worker is built all the same, and fuses nothing.
unpack_cudnn_frontend() {
  local work=.deps/cudnn-frontend.unpacking python=python3
  rm -rf "$work"
  mkdir -p "$work/wheels" "$work/prefix"
  $python -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
  $python -m pip download --quiet --no-deps --only-binary :all: --python-version 3.11 --implementation cp --abi cp311 \
    --platform manylinux_2_28_x86_64 --require-hashes -r .ci/cudnn-frontend.txt -d "$work/wheels"
  python3 -m zipfile -e "$work"/wheels/*.whl "$work/unpacked"
  mv "$work/unpacked/include" "$work/prefix/include"
  mv -T "$work/prefix" .deps/cudnn-frontend  # the last step, so that an incomplete one is never taken for whole
  rm -rf "$work"
}

need_cudnn_frontend() {
  if cudnn_frontend_present; then
    announce "cudnn-frontend"
    echo "there"
  else
    step "cudnn-frontend 1.32 from PyPI, into .deps/cudnn-frontend (12 MB)" unpack_cudnn_frontend
  fi
}

json_present() { [[ -e .deps/nlohmann-json/include/nlohmann/json.hpp || -e /usr/include/nlohmann/json.hpp ]]; }

need_json() {
  if json_present; then
    announce "nlohmann-json"
    echo "there"
  else
    step "nlohmann-json 3.11.2, into .deps/nlohmann-json" .ci/get-json
  fi
}

valijson_present() { [[ -e .deps/valijson/usr/include/valijson/validator.hpp || -e /usr/include/valijson/validator.hpp ]]; }

# Debian's libvalijson-dev is 60 headers and depends on the JSON libraries of the world, Qt's included: 190 packages, 106 MB.
# We use it with nlohmann-json alone, so we take the headers and leave the rest. This needs no root.
unpack_valijson() {
  local work=.deps/valijson.unpacking
  rm -rf "$work"
  mkdir -p "$work"
  (cd "$work" && apt-get download -qq libvalijson-dev && dpkg-deb -x libvalijson-dev_*.deb prefix)
  mv -T "$work/prefix" .deps/valijson
  rm -rf "$work"
}

need_valijson() {
  if valijson_present || ! command -v dpkg-deb >/dev/null; then
    announce "valijson"
    if valijson_present; then echo "there"; else echo "not found: install it where CMake looks"; fi
  else
    step "valijson's headers from apt, into .deps/valijson" unpack_valijson
  fi
}

chart_js_present() { [[ -e .deps/chart.js/chart.min.js || -e /usr/share/javascript/chart.js/chart.min.js ]]; }

# One file and its licence, of a package that needs no other one for them: no root either.
unpack_chart_js() {
  local work=.deps/chart.js.unpacking
  rm -rf "$work"
  mkdir -p "$work/prefix"
  (cd "$work" && apt-get download -qq libjs-chart.js && dpkg-deb -x libjs-chart.js_*.deb unpacked)
  cp -L "$work/unpacked/usr/share/javascript/chart.js/chart.min.js" "$work/unpacked/usr/share/doc/libjs-chart.js/copyright" "$work/prefix"
  mv -T "$work/prefix" .deps/chart.js  # the last step, so that an incomplete one is never taken for whole
  rm -rf "$work"
}

need_chart_js() {
  if chart_js_present || ! command -v dpkg-deb >/dev/null; then
    announce "Chart.js"
    if chart_js_present; then echo "there"; else echo "not found: CMake says where it looks"; fi
  else
    step "Chart.js from apt, into .deps/chart.js" unpack_chart_js
  fi
}

clang_format_program() { if [[ -x .deps/clang-format ]]; then echo .deps/clang-format; else echo clang-format-19; fi; }
clang_format_present() { [[ -x .deps/clang-format ]] || command -v clang-format-19 >/dev/null; }

unpack_clang_format() {
  local work=.deps/clang-format.unpacking python=python3
  rm -rf "$work"
  mkdir -p "$work"
  $python -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
  $python -m pip download --quiet --no-deps --only-binary :all: --require-hashes -r .ci/clang-format.txt -d "$work"
  python3 -m zipfile -e "$work"/*.whl "$work/unpacked"
  chmod +x "$work/unpacked/clang_format/data/bin/clang-format" # a zip's permissions are not unpacked
  mv -T "$work/unpacked/clang_format/data/bin/clang-format" .deps/clang-format
  rm -rf "$work"
}

check_data() { (cd examples/data/mnist && sha256sum --check --quiet SHA256SUMS); }

# --- Build ------------------------------------------------------------------------------------------------------------------

configure_preset() { cmake --preset "$1"; }

build_preset() {  # build_preset PRESET [TARGET...]
  local made preset=$1
  shift
  cmake --build --preset "$preset" -j "$(jobs_that_fit)" ${1:+--target "$@"} | tee "$log.build"
  made=$(grep -c '^\[[0-9]*/[0-9]*\] ' "$log.build" || true)
  rm -f "$log.build"
  if ((made)); then note "$made commands"; else note "up to date"; fi
}

set_up_steps=6  # packages, oneDNN, nlohmann-json, valijson, Chart.js, data

set_up() {  # set_up WITH_CATCH2 PACKAGE[:COMMAND]...
  need_packages "$@"
  need_onednn
  need_json
  need_valijson
  need_chart_js
  step "MNIST files against their checksums" check_data
}
