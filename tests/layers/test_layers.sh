#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The rooms of the library include only what lies below them; and the checker that says so does
# find violations: each kind is planted once in a scratch tree.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

result() { # NAME STATUS
    if [[ $2 -eq 0 ]]; then echo "ok $1"; else
        echo "not ok $1"
        failed=1
    fi
}

plain_tree() {
    rm -rf "${scratch:?}"/*
    mkdir -p "$scratch"/{include/gangsched,lib/{base,core,queue,sim},examples/gangsched}
    cd "$scratch"
    printf '#include <stdint.h>\n' >include/gangsched/base.h
    printf '#include <gangsched/base.h>\n' >include/gangsched/core.h
    printf '#include <hwloc.h>\n' >include/gangsched/hwloc.h
    printf '#include <gangsched/core.h>\n' >include/gangsched/gangsched.h
    printf '#include <gangsched/base.h>\n#include <stdlib.h>\n' >lib/base/ids.h
    printf '#include "base/ids.h"\n#include <urcu-bp.h>\n#include <gangsched/core.h>\n' >lib/core/cell.c
    # Neither a comment nor a string is an include.
    printf '/*\n#include "sched/x.h"\n*/\nconst char *s = "/*";\n#include "core/x.h"\n' >lib/queue/tree.c
    printf '#include <gangsched/gangsched.h>\n#include "sim/x.h"\n#include "base/ids.h"\n' >lib/sim/clock.c
    printf '#include <gangsched/gangsched.h>\n#include <jansson.h>\n#include "cli.h"\n' \
        >examples/gangsched/main.c
    touch examples/gangsched/cli.h
}

found() { # NAME FILE LINE PLANTED-INCLUDE
    plain_tree
    printf '%s\n' "$4" >>"$2"
    local output status=0
    output=$("$here/check_layers.sh" "$scratch") && status=1
    [[ $output == "$2:$3: "* ]] || status=1
    result "checker_finds_$1" $status
    ((status == 0)) || printf '  planted %s in %s, the checker said: %s\n' "$4" "$2" "$output"
}

plain_tree
status=0
"$here/check_layers.sh" "$scratch" || status=1
result checker_accepts_a_clean_tree $status

found a_higher_room lib/base/ids.h 3 '#include "core/cell.h"'
found a_higher_room_after_a_string_with_a_comment_mark lib/queue/tree.c 6 '#  include "plan/x.h"'
found a_higher_public_header lib/base/ids.h 3 '#include <gangsched/core.h>'
found an_include_without_its_room lib/core/cell.c 4 '#include "cell.h"'
found sim_behind_the_public_face lib/sim/clock.c 4 '#include "core/cell.h"'
found an_example_behind_the_public_face examples/gangsched/main.c 4 '#include "core/cell.h"'
found a_foreign_public_header include/gangsched/core.h 2 '#include <jansson.h>'
found a_private_include_in_a_public_header include/gangsched/base.h 2 '#include "base/ids.h"'
found a_public_header_of_a_higher_room include/gangsched/base.h 2 '#include <gangsched/core.h>'
found the_hwloc_adapter_in_another_header include/gangsched/gangsched.h 2 '#include <gangsched/hwloc.h>'

cd "$here"
status=0
"$here/check_layers.sh" || status=1
result rooms_include_only_lower_ones $status
exit $failed
