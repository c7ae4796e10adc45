#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian and Ubuntu packages that we need, in one place. To be sourced:
#   gang_install_packages build   what a build of the library and its programs needs
#   gang_install_packages test    that, and what tests/run.sh needs
# Installs only what is missing, so that nothing happens, and no network is needed, once all is
# there. Returns 1 with a message when something that is necessary stays missing.

# One package a line: name or alternatives, then how to see that it is there although the package
# is not (built by hand, another distribution). A leading "?" marks what tests can do without.
gang__packages_build='
cmake               cmd:cmake
ninja-build         cmd:ninja
gcc                 cmd:gcc
libc6-dev           file:/usr/include/stdio.h
pkgconf|pkg-config  cmd:pkg-config
libjansson-dev      pc:jansson
libhwloc-dev        pc:hwloc
liburcu-dev         pc:liburcu-bp
zlib1g-dev          pc:zlib
'
gang__packages_test='
check               pc:check
g++                 cmd:g++
?clang              cmd:clang
?libclang-rt-dev    none
?valgrind           cmd:valgrind
?spin               cmd:spin
?strace             cmd:strace
?python3            cmd:python3
?python3-dev        none
?python3-cffi       none
?python3-numpy      none
?python3-pandas     none
?python3-matplotlib none
?python3-tqdm       none
?python3-pytest     none
?python3-hypothesis none
?python3-mypy       none
?python3-setuptools none
?python3-wheel      none
?python3-pip        none
?python3-venv       none
?python3-distributed none
?python3-mpi4py     none
?openmpi-bin        cmd:mpirun
?python3-yaml       none
?python3-nbformat   none
?python3-nbclient   none
?python3-ipykernel  none
?python3-matplotlib-inline none
?python3-sphinx none
?abigail-tools      cmd:abidiff
?hwloc-nox|hwloc    cmd:lstopo
?cppcheck           cmd:cppcheck
?shellcheck         cmd:shellcheck
'

gang__package_installed() { # PACKAGE[|PACKAGE...] PROBE
    local name
    if command -v dpkg-query >/dev/null; then
        for name in ${1//|/ }; do
            # The status also shows a removed package with its configuration left.
            [[ $(dpkg-query -W -f '${Status}\n' "$name" 2>/dev/null) == *"ok installed"* ]] && return 0
        done
    fi
    case $2 in
    cmd:*) command -v "${2#cmd:}" >/dev/null ;;
    pc:*) command -v pkg-config >/dev/null && pkg-config --exists "${2#pc:}" ;;
    file:*) [[ -e ${2#file:} ]] ;;
    *) return 1 ;;
    esac
}

# Prints what is missing: the first alternative of each, with its "?".
gang__packages_missing() { # LIST
    local names probe
    while read -r names probe; do
        [[ -z $names ]] && continue
        gang__package_installed "${names#\?}" "$probe" || echo "${names%%|*}"
    done <<<"$1"
}

gang__apt_install() { # PACKAGE...
    local -a as_root=()
    if [[ $(id -u) -ne 0 ]]; then
        command -v sudo >/dev/null || {
            echo "neither root nor sudo: cannot install packages" >&2
            return 1
        }
        as_root=(sudo)
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 install -y --no-install-recommends "$@" >&2
}

gang_install_packages() { # build|test
    local list=$gang__packages_build missing name
    local -a all=() needed=()
    case ${1:-} in
    build) ;;
    test) list+=$gang__packages_test ;;
    *)
        echo "usage: gang_install_packages build|test" >&2
        return 2
        ;;
    esac

    missing=$(gang__packages_missing "$list")
    [[ -z $missing ]] && return 0
    for name in $missing; do
        all+=("${name#\?}")
        [[ $name == \?* ]] || needed+=("$name")
    done

    if command -v apt-get >/dev/null; then
        echo "installing: ${all[*]}" >&2
        if [[ $(id -u) -eq 0 ]]; then
            apt-get -qq update >&2 || true
        elif command -v sudo >/dev/null; then
            sudo apt-get -qq update >&2 || true
        fi
        # An optional package that this release does not know must not keep out the others.
        if ! gang__apt_install "${all[@]}"; then
            ((${#needed[@]})) && { gang__apt_install "${needed[@]}" || true; }
            for name in $missing; do
                [[ $name == \?* ]] && { gang__apt_install "${name#\?}" || true; }
            done
        fi
    fi

    missing=$(gang__packages_missing "$list")
    needed=()
    for name in $missing; do
        if [[ $name == \?* ]]; then
            echo "note: ${name#\?} is missing; what needs it is skipped" >&2
        else
            needed+=("$name")
        fi
    done
    if ((${#needed[@]})); then
        echo "error: these Debian packages are needed and could not be installed: ${needed[*]}" >&2
        echo "       install them (or what they provide) and start again" >&2
        return 1
    fi
}
