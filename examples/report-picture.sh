#!/bin/bash
# Draws the head of a campaign's page as docs/report.png:
#   examples/report-picture.sh [CAMPAIGN]
#
# Needs chromium-headless-shell or chromium. ./quickstart leaves the campaign 'mnist'. NOCTURNE names another program, NOCTURNE_DATA
# another folder of data.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

browser=$(command -v chromium-headless-shell || command -v chromium)
program=${NOCTURNE:-build/release/bin/nocturne}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PATH=$(cd "$(dirname "$program")" && pwd):$PATH nocturne report html "${1:-mnist}" --output "$folder/page.html" >/dev/null
"$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" --window-size=900,1330 \
  --screenshot="$PWD/docs/report.png" "file://$folder/page.html" 2>/dev/null
ls -s --block-size=kB docs/report.png
