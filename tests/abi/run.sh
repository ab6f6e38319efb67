#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run: each public header compiles alone, as C and as C++, without a warning,
# and the numbers in it are those that programs were built with.  TAP into
# BUILD/tests/abi/abi.tap, then the count.  Called by `make abi-test`.

# $c and $cxx hold words:
# shellcheck disable=SC2086

set -u
cd "$(dirname "$0")/../.." || exit
build=${BUILD:-$PWD/build}
tap=$build/tests/abi/abi.tap
log=$build/tests/abi/log
mkdir -p "$build/tests/abi"
: >"$tap"
nr=0

# try NAME COMMAND...: a line of TAP for it
try()
{
	name=$1
	shift
	nr=$((nr + 1))
	if "$@" >"$log" 2>&1; then
		echo "ok $nr - $name" >>"$tap"
	else
		echo "not ok $nr - $name" >>"$tap"
		cat "$log" >&2
	fi
}

skip()
{
	nr=$((nr + 1))
	echo "ok $nr - $1 # SKIP $2" >>"$tap"
}

warn="-Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only"
c="${CC:-cc} $warn"
cxx="${CXX:-c++} $warn"
have_cxx=
command -v "${CXX:-c++}" >/dev/null && have_cxx=1

# as_cxx NAME ARGUMENTS...: the same where there is a C++ compiler
as_cxx()
{
	name=$1
	shift
	if [ "$have_cxx" ]; then
		try "$name" $cxx "$@"
	else
		skip "$name" 'no C++ compiler'
	fi
}

for header in include/krcore/*.h; do
	alone=$build/tests/abi/${header##*/}
	# Twice: the guard works.
	printf '#include <krcore/%s>\n' "${header##*/}" "${header##*/}" >"$alone.c"
	cp "$alone.c" "$alone.cc"
	for std in c99 c11 gnu17; do
		try "$header: $std" $c -std=$std "$alone.c"
	done
	for std in c++11 c++17; do
		as_cxx "$header: $std" -std=$std "$alone.cc"
	done
done
try 'uapi.h: includes nothing but linux/types.h' sh -c \
	'! grep "^#[ 	]*include" include/krcore/uapi.h | grep -v "<linux/types.h>"'
try 'numbers: C' $c -std=c11 tests/abi/numbers.c
as_cxx 'numbers: C++' -std=c++11 -x c++ tests/abi/numbers.c

exec tests/summary.sh count "$tap"
