#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Renews the ABI baseline from this tree and notes the reason in HISTORY.md.
#   update.sh "reason"
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

reason=${1:-}
if [[ -z $reason ]]; then
    echo "usage: update.sh \"reason\"" >&2
    exit 2
fi
command -v abidw >/dev/null || {
    echo "abidw is missing: install abigail-tools" >&2
    exit 1
}

abi_build_library >&2
abi_dump "$baseline.new"
# At the end, since abidiff knows the format by the first bytes.
{
    echo '<!-- SPDX-License-Identifier: Apache-2.0 -->'
    echo "<!-- toolchain: $(abi_toolchain) -->"
} >>"$baseline.new"
mv "$baseline.new" "$baseline"

version=$(sed -n 's/^#define GANG_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\).*/\2/p' \
    "$root/include/gangsched/base.h" | paste -sd.)
history=$root/tests/abi/HISTORY.md
[[ -e $history ]] || printf '# Why the ABI baseline changed\n\nOldest first; written by update.sh.\n\n' >"$history"
printf -- '- %s, version %s (%s, abidw %s): %s\n' "$(date -u +%Y-%m-%d)" "$version" \
    "$(abi_toolchain)" "$(abidw --version | sed 's/.* //')" "$reason" >>"$history"
echo "wrote ${baseline#"$root"/}"
