#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the ABI check and the update of its baseline share. To be sourced.
# shellcheck disable=SC2034 # used there

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
baseline=$root/tests/abi/gangsched-0.abi.xml
abi_build=$root/build/release
abi_library=$abi_build/lib/libgangsched.so

# The release preset has fixed flags with debug information; the environment must not add to them.
abi_build_library() {
    (
        unset CFLAGS CPPFLAGS LDFLAGS
        cd "$root" || exit
        cmake --preset release && cmake --build --preset release --target gangsched
    )
}

# What a dump depends on besides our sources, e.g. "GNU 12.2.0 x86_64".
abi_toolchain() {
    local file
    file=$(find "$abi_build/CMakeFiles" -name CMakeCCompiler.cmake)
    printf '%s %s %s\n' \
        "$(sed -n 's/^set(CMAKE_C_COMPILER_ID "\(.*\)")/\1/p' "$file")" \
        "$(sed -n 's/^set(CMAKE_C_COMPILER_VERSION "\(.*\)")/\1/p' "$file")" \
        "$(uname -m)"
}

# The public types and functions of the library. Names of files come without paths, and types of
# no public header as mere declarations, so that an opaque object may change.
abi_dump() { # FILE
    abidw --headers-dir "$root/include" --drop-private-types --exported-interfaces-only \
        --short-locs --no-corpus-path --no-comp-dir-path --no-elf-needed --type-id-style hash \
        --out-file "$1" "$abi_library"
}
