#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calls between the folders of lib/: each object file refers only to symbols of its own folder and
# of lower ones (tests/layers/floors). Prints one line for each violation,
# "FOLDER/FILE.c -> FOLDER/FILE.c: SYMBOL", and exits with 1 if there is any.
#   check_calls.sh OBJECTS [FLOORS [LIB]]
# OBJECTS: the folder below which the objects of lib/ lie. LIB: the folder of their sources; an
# object without a source is an old one and is passed over.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
floors=${2:-$here/floors}
lib=$(cd "${3:-$here/../../lib}" && pwd)
cd "$1"

find . -name '*.c.o' -printf '%P\n' | sort |
    while read -r object; do [[ ! -e $lib/${object%.o} ]] || echo "$object"; done |
    xargs nm -A | awk -v floors="$floors" '
    BEGIN {
        while ((getline line < floors) > 0)
            if (line !~ /^#/ && split(line, column, " ") > 0) rank[column[1]] = ++ranks
    }
    function folder(file) { sub(/\/[^\/]*$/, "", file); return file }
    {
        split($1, head, ":")
        file = head[1]
        sub(/\.o$/, "", file)
        symbol = $NF
        kind = $(NF - 1)
        if (!(folder(file) in rank) && !(file in unknown)) {
            unknown[file]
            print file ": its folder is not in the list of floors"
            bad = 1
        }
        if (kind == "U") { users[++uses] = file; used[uses] = symbol }
        else if (kind ~ /^[TDBRVW]$/) home[symbol] = file
    }
    END {
        for (i = 1; i <= uses; i++) {
            to = home[used[i]]
            if (to == "" || rank[folder(to)] <= rank[folder(users[i])]) continue
            print users[i] " -> " to ": " used[i]
            bad = 1
        }
        exit bad
    }'
