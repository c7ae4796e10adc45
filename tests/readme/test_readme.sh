#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# README.md shows examples/first_gang.c, which the build compiles, and stays short. What README.md
# and examples/README.md show of programs is their output. The example programs run and succeed. The
# first two pages keep their size.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=${GANG_BIN_DIR:-$root/build/dev/examples}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failed=0

awk '/^<!-- examples\/first_gang\.c -->$/ { wanted = 1; next }
     wanted && /^```c$/ { inside = 1; wanted = 0; next }
     inside && /^```$/ { exit }
     inside' "$root/README.md" >shown.c || true

if [[ -s shown.c ]] && diff shown.c "$root/examples/first_gang.c"; then
    echo "ok readme_shows_first_gang"
else
    echo "not ok readme_shows_first_gang"
    [[ -s shown.c ]] || echo "  no C block after the line <!-- examples/first_gang.c -->"
    failed=1
fi

# Each block of examples/README.md that begins with a command line shows its output.
shows() { # COMMAND OPTION...
    awk -v wanted="\$ gangsched $*" '$0 == wanted { inside = 1; next }
        inside && /^```$/ { exit }
        inside' "$root/examples/README.md" >shown.txt
    (cd "$root" && "$bin/gangsched" "$@") >printed.txt
    if [[ -s shown.txt ]] && diff shown.txt printed.txt; then echo "ok readme_shows_$1"; else
        echo "not ok readme_shows_$1"
        failed=1
    fi
}
shows forecast --samples 200 --add-nodes 2 examples/backlog.json
shows plan examples/backlog.json

awk '/^\(`examples\/reserve\.c`\):$/ { wanted = 1; next }
     wanted && /^```$/ { inside = !inside; if (!inside) exit; next }
     inside' "$root/examples/README.md" >shown.txt
if [[ -s shown.txt ]] && "$bin/reserve" | diff shown.txt -; then echo "ok readme_shows_reserve"; else
    echo "not ok readme_shows_reserve"
    failed=1
fi

awk '/\(`examples\/simulate\.c`\):$/ { wanted = 1; next }
     wanted && /^```$/ { inside = !inside; if (!inside) exit; next }
     inside' "$root/README.md" >shown.txt
if [[ -s shown.txt ]] && "$bin/simulate" | diff shown.txt -; then echo "ok readme_shows_simulate"; else
    echo "not ok readme_shows_simulate"
    failed=1
fi

for page in README.md ARCHITECTURE.md; do
    size=$(wc -c <"$root/$page")
    if ((size <= 12 * 1024)); then echo "ok ${page%.md}_is_at_most_12_KiB"; else
        echo "not ok ${page%.md}_is_at_most_12_KiB"
        echo "  it has $size bytes"
        failed=1
    fi
done

lines=$(wc -l <"$root/examples/first_gang.c" || echo 999)
if [[ $lines -lt 40 ]]; then echo "ok first_gang_is_under_40_lines"; else
    echo "not ok first_gang_is_under_40_lines"
    echo "  it has $lines"
    failed=1
fi

for name in first_gang two_teams incremental threads hwloc_node bind_task what_if launch_gang forecast reserve two_futures; do
    if timeout 60 "$bin/$name" >output 2>&1; then echo "ok example_$name"; else
        echo "not ok example_$name"
        sed 's/^/  /' output
        failed=1
    fi
done
exit $failed
