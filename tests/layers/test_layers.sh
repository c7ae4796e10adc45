#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The folders of lib/ include and call only lower ones, without exceptions, and each says in a
# README.md what it is for. Each atomic operation names its memory order. The checkers find
# violations: each kind is planted once in a scratch tree.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${GANG_BUILD_DIR:-$root/build/dev}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

result() { # NAME STATUS
    if [[ $2 -eq 0 ]]; then echo "ok $1"; else
        echo "not ok $1"
        failed=1
    fi
}

# ---- includes ----------------------------------------------------------------------------------

plain_tree() {
    rm -rf "${scratch:?}"/*
    mkdir -p "$scratch"/{include/gangsched,lib/{base/json,core,queue,sim},examples/gangsched,tests/layers}
    cd "$scratch"
    printf '%s\n' 'base *' 'base/json json.h' 'core core.h' 'queue queue.h' 'plan plan.h' 'sched sched.h' \
        'sim sim.h' >tests/layers/floors
    printf '#include <stdint.h>\n' >include/gangsched/base.h
    printf '#include <gangsched/base.h>\n' >include/gangsched/core.h
    printf '#include <hwloc.h>\n' >include/gangsched/hwloc.h
    printf '#include <gangsched/core.h>\n' >include/gangsched/gangsched.h
    printf '#include <gangsched/base.h>\n#include <stdlib.h>\n' >lib/base/ids.h
    printf '#include "base/ids.h"\n' >lib/base/json/json.h
    printf '#include "base/ids.h"\n#include <urcu-bp.h>\n#include <gangsched/core.h>\n' >lib/core/cell.c
    # Neither a comment nor a string is an include.
    printf '/*\n#include "sched/x.h"\n*/\nconst char *s = "/*";\n#include "core/core.h"\n' >lib/queue/tree.c
    printf '#include <gangsched/gangsched.h>\n#include "sim/x.h"\n#include "base/ids.h"\n' >lib/sim/clock.c
    printf '#include <gangsched/gangsched.h>\n#include <jansson.h>\n#include "cli.h"\n' \
        >examples/gangsched/main.c
    touch examples/gangsched/cli.h
}

found() { # NAME FILE LINE PLANTED-INCLUDE
    plain_tree
    printf '%s\n' "$4" >>"$2"
    local output status=0
    output=$("$here/check_includes.sh" "$scratch") && status=1
    [[ $output == "$2:$3: "* ]] || status=1
    result "include_checker_finds_$1" $status
    ((status == 0)) || printf '  planted %s in %s, the checker said: %s\n' "$4" "$2" "$output"
}

plain_tree
status=0
"$here/check_includes.sh" "$scratch" || status=1
result include_checker_accepts_a_clean_tree $status

found a_higher_component lib/base/ids.h 3 '#include "core/cell.h"'
found a_higher_folder_of_the_same_component lib/base/ids.h 3 '#include "base/json/json.h"'
found a_header_that_is_no_interface lib/queue/tree.c 6 '#include "core/cell.h"'
found a_folder_without_a_floor lib/core/cell.c 4 '#include "core/nodes/node.h"'
found a_higher_component_after_a_string_with_a_comment_mark lib/queue/tree.c 6 '#  include "plan/x.h"'
found a_higher_public_header lib/base/ids.h 3 '#include <gangsched/core.h>'
found an_include_without_its_folder lib/core/cell.c 4 '#include "cell.h"'
found sim_behind_the_public_headers lib/sim/clock.c 4 '#include "core/cell.h"'
found an_example_behind_the_public_headers examples/gangsched/main.c 4 '#include "core/cell.h"'
found a_foreign_public_header include/gangsched/core.h 2 '#include <jansson.h>'
found a_private_include_in_a_public_header include/gangsched/base.h 2 '#include "base/ids.h"'
found a_public_header_of_a_higher_component include/gangsched/base.h 2 '#include <gangsched/core.h>'
found the_hwloc_adapter_in_another_header include/gangsched/gangsched.h 2 '#include <gangsched/hwloc.h>'

# ---- calls -------------------------------------------------------------------------------------

# Two files of two folders; low.c and high.c define low() and high(), and each line given is added.
calls() { # LINE-OF-LOW LINE-OF-HIGH
    rm -rf "${scratch:?}"/*
    mkdir -p "$scratch"/{base,core}
    printf 'void low(void);\nvoid high(void);\nvoid low(void) { %s }\n' "$1" >"$scratch/base/low.c"
    printf 'void low(void);\nvoid high(void);\nvoid high(void) { %s }\n' "$2" >"$scratch/core/high.c"
    (cd "$scratch" && for file in base/low core/high; do "${CC:-cc}" -c "$file.c" -o "$file.c.o"; done)
    printf 'base\ncore\n' >"$scratch/floors"
    "$here/check_calls.sh" "$scratch" "$scratch/floors" "$scratch"
}

status=0
calls '' 'low();' || status=1
result call_checker_accepts_a_call_downwards $status
status=0
output=$(calls 'high();' '') && status=1
[[ $output == "base/low.c -> core/high.c: high" ]] || status=1
result call_checker_finds_a_call_upwards $status
status=0
output=$(calls 'void (*f)(void) = high; f();' '') && status=1
[[ $output == "base/low.c -> core/high.c: high" ]] || status=1
result call_checker_finds_the_address_of_a_higher_function $status

# ---- the library -------------------------------------------------------------------------------

cd "$here"
status=0
"$here/check_includes.sh" || status=1
result folders_include_only_lower_ones $status

objects=$build/lib/CMakeFiles/gangsched-test.dir
if [[ -d $objects ]]; then
    status=0
    "$here/check_calls.sh" "$objects" || status=1
    result folders_call_only_lower_ones $status
else
    echo "skip folders_call_only_lower_ones # no objects in $objects"
fi

cd "$root/lib"
status=0
while read -r folder; do
    if [[ ! -e $folder/README.md ]]; then
        echo "  lib/$folder has no README.md"
        status=1
    elif (($(wc -l <"$folder/README.md") > 150)); then
        echo "  lib/$folder/README.md has more than 150 lines"
        status=1
    fi
    for file in "$folder"/*.[ch]; do
        name=${file##*/}
        grep -qE "\b(${name%.*}\.([ch]|\[ch\])|${name%%_*}_\*\.c)" "$folder/README.md" || {
            echo "  lib/$folder/README.md does not say what $name is for"
            status=1
        }
    done
done < <(sed -nE 's/^([a-z_/]+) .*/\1/p' "$here/floors")
result each_folder_says_what_it_is_for $status

status=0
while read -r folder; do
    if ! grep -qE "^$folder +" "$here/floors"; then
        echo "  lib/$folder is not in tests/layers/floors"
        status=1
    fi
done < <(find . -name '*.[ch]' -printf '%h\n' | sed 's,^\./,,' | sort -u)
result each_folder_has_its_floor $status

# ---- memory orders -----------------------------------------------------------------------------

# An atomic operation without an order in its name is sequentially consistent by accident.
unordered() { # FOLDER
    grep -rnE '\batomic_(load|store|exchange|fetch_[a-z]+|compare_exchange_(weak|strong)) *\(' "$1"
}
printf 'atomic_fetch_add_explicit(&n, 1, memory_order_relaxed);\natomic_load(&n);\n' \
    >"$scratch/orders.c"
status=0
[[ $(unordered "$scratch") == "$scratch/orders.c:2:atomic_load(&n);" ]] || status=1
result order_checker_finds_an_operation_without_an_order $status
status=0
! unordered "$root/lib" || status=1
result each_atomic_operation_names_its_order $status
exit $failed
