#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, as C and as C++, by each compiler that is there; each struct
# that carries its size has an initial value, which names every member; each word of a public name
# or member stands in the glossary; file names are unique; each word that threads share names what
# it pairs with; no comment is wider than 100 columns; files name their licence.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$root"
failed=0
read -ra hwloc_flags <<<"$(pkg-config --cflags hwloc)"

compile() { # COMPILER LANGUAGE STANDARD HEADER
    local name
    name=header_$(basename "$4" .h)_as_$3_by_$1
    printf '#include <gangsched/%s>\nint gang_header_test;\n' "${4##*/}" >"$scratch/x.$2"
    if "$1" "-std=$3" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude "${hwloc_flags[@]}" \
        "$scratch/x.$2" 2>"$scratch/log"; then
        echo "ok $name"
    else
        echo "not ok $name"
        cat "$scratch/log"
        failed=1
    fi
}

by_compiler() { # COMPILER LANGUAGE STANDARD...
    local header standard
    command -v "$1" >/dev/null || {
        echo "skip headers_by_$1 # $1 is not installed"
        return 0
    }
    for header in include/gangsched/*.h; do
        for standard in "${@:3}"; do compile "$1" "$2" "$standard" "$header"; done
    done
}
by_compiler gcc c c99 c11
by_compiler clang c c99 c11
by_compiler g++ cc c++11 c++20
by_compiler clang++ cc c++11 c++20

# A struct that may grow is begun with its _INIT: its size, and no member left out, so that a member
# that is added to the struct is added there.
sized=$(awk -f tests/tools/strip_comments.awk include/gangsched/*.h |
    awk '/^struct [a-z_]+ \{/ { name = $2 } /^ *size_t size;/ && name { print name; name = "" } /^};/ { name = "" }')
initial_values() {
    echo '#include <gangsched/gangsched.h>'
    echo 'int main(void) {'
    for name in $sized; do
        echo "    { struct $name value = ${name^^}_INIT; if (value.size != sizeof(value)) return 1; }"
    done
    echo '    return 0; }'
}
initial_values >"$scratch/initial.c"
cp "$scratch/initial.c" "$scratch/initial.cc"
if [[ $(wc -w <<<"$sized") -gt 40 ]] &&
    gcc -std=c99 -Wall -Wextra -Werror -Iinclude "$scratch/initial.c" -o "$scratch/initial" &&
    "$scratch/initial" &&
    g++ -std=c++11 -Wall -Wextra -Werror -Iinclude "$scratch/initial.cc" -o "$scratch/initial" &&
    "$scratch/initial"; then
    echo "ok each_struct_with_its_size_has_an_initial_value"
else
    echo "not ok each_struct_with_its_size_has_an_initial_value"
    failed=1
fi

# Each word of a public name, and of a member of a public struct, stands in the glossary, as a word
# or in the text of a sense: not in the column of other systems, nor in the text around the tables.
# The words that it need not define: what they say in English, or in another standard, is what they
# mean here.
everyday="active alloc answer api ask available average b bandwidth because begin cheapest child children code
csv cuda detect dimension distribution done down duration earliest enum ever every exhausted failure
flop full go grew half hwloc interrupted jsonl key lack last late local log major manual mask mbps mem minor
missing near ok os owner patch pci percent plain preallocate predicted prefer proc ran ranked reject
resumed rocr scale select shrank skip small smallest strerror summary synthetic this type unfinished
unit unknown up utilisation utilization uuid warning wasted widest world xml"
glossary() { sed -n '/^## Glossary/,$p' include/gangsched/README.md | awk -F'|' 'NF > 3 { print $2, $3 }'; }
singular() { sed -E 's/sses$/ss/; t; s/([^s][^s])s$/\1/'; }
words() { tr '[:upper:]_' '[:lower:]\n' | grep -E '^[a-z]' | grep -vE '^reserved[0-9]$' | singular | sort -u; }
defined() {
    { echo "gang $everyday"; glossary; } | tr '[:upper:]' '[:lower:]' |
        grep -oE '[a-z0-9]+' | singular | sed -E 'p; s/$/ed/; p; s/eed$/ed/; p; s/ed$/ing/' | sort -u
}
public_names() {
    awk -f tests/tools/strip_comments.awk include/gangsched/*.h |
        grep -oE '\b(gang_[a-z0-9_]+|GANG_[A-Z0-9_]+)\b' | grep -vE '^(gang_|GANG_)_|^GANG_E[A-Z0-9]+$'
}
public_members() {
    awk -f tests/tools/strip_comments.awk include/gangsched/*.h | awk -f tests/headers/members.awk
}
all_defined() { # NAME, words on standard input
    local undefined
    undefined=$(comm -23 - <(defined))
    if [[ -z $undefined ]]; then echo "ok $1"; else
        echo "not ok $1"
        echo "$undefined"
        failed=1
    fi
}
all_defined words_of_public_names_stand_in_the_glossary < <(public_names | words)
all_defined words_of_public_members_stand_in_the_glossary < <(public_members | words)

duplicates=$(find include lib -type f ! -name CMakeLists.txt ! -name README.md -printf '%f\n' | sort | uniq -d)
if [[ -z $duplicates ]]; then echo "ok file_names_are_unique"; else
    echo "not ok file_names_are_unique"
    echo "$duplicates"
    failed=1
fi

# See the head of base/atomic.h.
alone=$(find lib -name '*.[ch]' ! -path lib/base/atomic.h -print0 |
    xargs -0 awk -f tests/headers/shared_words.awk)
if [[ -z $alone ]]; then echo "ok each_shared_word_names_what_it_pairs_with"; else
    echo "not ok each_shared_word_names_what_it_pairs_with"
    echo "$alone"
    failed=1
fi

# clang-format breaks code, but no comment.
# shellcheck disable=SC2016
wide=$(find include lib tests bench examples -name '*.[ch]' -print0 |
    xargs -0 awk 'length($0) > 100 && /^ *\*|\/\*/ {
        print FILENAME ":" FNR ": " length($0) " columns"}')
if [[ -z $wide ]]; then echo "ok no_comment_is_wider_than_100_columns"; else
    echo "not ok no_comment_is_wider_than_100_columns"
    echo "$wide"
    failed=1
fi

# Formats without comments (JSON, data) and prose are left out.
unlicensed=$(find . \( -name .git -o -path './build*' -o -name __pycache__ \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' -o -name '*.sh' -o -name '*.py' -o -name '*.awk' \
    -o -name '*.cmake' -o -name '*.in' -o -name '*.list' -o -name '*.supp' -o -name '*.pml' \
    -o -name '*.[1-9]' -o -name '*.pyi' -o -name '*.toml' -o -name '*.abignore' -o -name '*.skip' \
    -o -name CMakeLists.txt -o -path ./.ci/run \) \
    -print0 | xargs -0 grep -L 'SPDX-License-Identifier: Apache-2.0' || true)
if [[ -z $unlicensed ]]; then echo "ok files_name_their_licence"; else
    echo "not ok files_name_their_licence"
    echo "$unlicensed"
    failed=1
fi
exit $failed
