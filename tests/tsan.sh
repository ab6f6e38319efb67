#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tsan.sh BUILD PROGRAM...: what `make tsan` has built: the unit tests, the shim in
# a threaded program, some of the simulator.  Reports and failures go to stderr.

set -u
build=$1
shift
taps=

# run NAME COMMAND...: its TAP into BUILD/tests/NAME.tap
run()
{
	tap=$build/tests/$1.tap
	taps="$taps $tap"
	name=$1
	shift
	timeout 300 "$@" >"$tap"
	rc=$?
	[ $rc -eq 0 ] || grep '^not ok' -B 5 "$tap" >&2 ||
		echo "not ok - $name ended with status $rc" >>"$tap"
}

for program; do
	run "unit/${program##*/}" "$program"
done
run preload/shim env LD_PRELOAD="$build/lib/libkrcore-preload.so" \
	"$build/tests/preload/tester" tcp
run sim/tsan sh -c '"$0" --seed 1 --seeds 5 >&2 && echo "ok - simulator"' \
	"$build/tests/sim/krsim"
# shellcheck disable=SC2086
"$(dirname "$0")/summary.sh" count $taps
