#!/bin/bash
# The README's GPU table, from one command, on whatever NVIDIA GPU there is: our own trainer on cuDNN against PyTorch, both
# networks, each precision, alive together and in turns (nocturne compare --measure). What was measured before is not measured
# again; each row that could not be measured says why.
#
#   examples/gpu-table.sh [--time DURATION]      of each network's comparison (default 40min)
#
# Prints Markdown. NOCTURNE names another program than build/release/bin/nocturne. Exit codes: 0 done, 1 nothing could be
# compared, 2 wrong usage, 5 no GPU or no program.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
nocturne=${NOCTURNE:-$here/../build/release/bin/nocturne}
time=40min

while (($#)); do
  case $1 in
    --time) [[ $# -ge 2 ]] || { echo "gpu-table: --time needs a duration, such as 40min" >&2; exit 2; }; time=$2; shift 2 ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "gpu-table: unknown argument '$1'; --help says what there is" >&2; exit 2 ;;
  esac
done

if ! [[ -e /dev/nvidia0 || -e /dev/dxg ]] && ! nvidia-smi -L >/dev/null 2>&1; then
  echo "gpu-table: this machine shows no NVIDIA GPU: there is nothing to measure" >&2
  exit 5
fi
if [[ ! -x $nocturne ]]; then
  echo "gpu-table: $nocturne is not there: ./quickstart --cuda --setup-only builds it" >&2
  exit 5
fi

# The sides of a comparison; the first, PyTorch's usual compiled form in f32, is what the others are compared with.
rows() {
  local precision
  echo "framework=pytorch-2.15-cuda,precision=f32,graph_compiler=inductor"
  for precision in tf32 bf16 f16; do
    echo "framework=pytorch-2.15-cuda,precision=$precision,graph_compiler=inductor,layout=nhwc"
  done
  for precision in f32 tf32 bf16 f16; do
    echo "framework=cudnn,precision=$precision,layout=nhwc,algorithm=find,cuda_graphs=true,streams=2"
  done
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t sides < <(rows)
for network in resnet50 mnist; do
  echo "gpu-table: $network, at most $time …" >&2
  "$nocturne" compare "${sides[@]}" --campaign "$here/$network-gpu.json" --measure --pairs 3 --most-pairs 8 --time "$time" \
    --json >"$work/$network.json" || echo "gpu-table: $network: nocturne compare ended with exit code $?" >&2
done
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1 || true)

python3 - "$work" "${gpu:-an NVIDIA GPU}" <<'PYTHON'
import json, os, sys

folder, gpu = sys.argv[1:]
rows = []
for network in ("resnet50", "mnist"):
    try:
        with open(os.path.join(folder, network + ".json")) as file:
            sides = json.load(file)["sides"]
    except (OSError, ValueError, KeyError):
        continue
    for side in sides:
        configuration, step, gain = side["configuration"], side.get("steady_step_s"), side["gain"]
        speed = "%.0f" % (configuration["batch"] / step["seconds"]) if step else "–"
        if gain:
            verdict = "%+.1f %% (%+.1f to %+.1f)" % (gain["percent"], gain["low_percent"], gain["high_percent"])
        else:
            verdict = "compared with" if side is sides[0] else side["reason"] or side["no_gain"]
        rows.append((network, configuration["framework"], configuration["precision"], str(configuration["batch"]), speed,
                     verdict))
if not rows:
    sys.exit("gpu-table: nothing could be compared")
print("%s; training steps in turns, 95 %% intervals:\n" % gpu)
print("| network | trainer | precision | batch | images/s | faster than PyTorch, f32, inductor |")
print("| --- | --- | --- | --- | --- | --- |")
for row in rows:
    print("| " + " | ".join(row) + " |")
PYTHON
