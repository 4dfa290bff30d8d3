#!/bin/bash
# Puts the page that a campaign ends with into README.md, between its two markers: examples/sample-page.sh [CAMPAIGN]
#
# ./quickstart leaves the campaign 'mnist', which is what README.md shows. NOCTURNE names another program, NOCTURNE_DATA another
# folder of data.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${NOCTURNE:-build/release/bin/nocturne}
page=$(mktemp)
trap 'rm -f "$page" "$page.readme"' EXIT
PATH=$(cd "$(dirname "$program")" && pwd):$PATH COLUMNS=120 nocturne best "${1:-mnist}" | sed 's/^/    /; s/ *$//' >"$page"

for marker in '<!-- page -->' '<!-- end of page -->'; do
  if [[ $(grep -cFx -- "$marker" README.md) != 1 ]]; then
    echo "README.md needs the line '$marker' once" >&2
    exit 1
  fi
done
awk -v page="$page" '
  $0 == "<!-- end of page -->" { inside = 0 }
  !inside { print }
  $0 == "<!-- page -->" { inside = 1; print ""; while ((getline line < page) > 0) print line; print "" }
' README.md >"$page.readme"
cat "$page.readme" >README.md
