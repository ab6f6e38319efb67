#!/bin/sh
# SPDX-License-Identifier: MIT
#
# summary: count test results and end with "N passed, N failed, N skipped".
#
#   summary.sh run DIR PROGRAM...   run Criterion programs, TAP files into DIR
#   summary.sh count FILE...        count TAP files
#
# A program that ends badly without a failed test of its own counts as one
# failure, and so does a file without any result.  Exits 1 if anything failed.

set -u
limit=${SUMMARY_TIMEOUT:-120}

# count FILE...: prints the failures and the last line
count()
{
	[ $# -gt 0 ] || set -- /dev/null
	awk '
	function end_file() {
		if (file != "" && seen == 0) {
			printf "%s: no results\n", file
			failed++
		}
		seen = 0
	}
	FNR == 1 { end_file(); file = FILENAME }
	/^ok / && /# *SKIP/ { skipped++; seen++; next }
	/^ok / { passed++; seen++; next }
	/^not ok / { failed++; seen++; printf "%s: %s\n", FILENAME, $0; next }
	/^1\.\.0/ { seen++ }
	END {
		end_file()
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit failed > 0
	}' "$@"
}

# run DIR PROGRAM...: one TAP file for each program, then the count
run()
{
	dir=$1
	shift
	files=
	for program; do
		tap=$dir/${program##*/}.tap
		rm -f "$tap"
		timeout "$limit" "$program" --tap="$tap" -j1 >&2
		rc=$?
		[ -e "$tap" ] || : >"$tap"
		if [ $rc -ne 0 ] && ! grep -q '^not ok ' "$tap"; then
			echo "not ok - ${program##*/} ended with status $rc" >>"$tap"
		fi
		files="$files $tap"
	done
	# The build directory's path may not hold blanks: make could not either.
	count $files
}

case ${1-} in
run|count)
	"$@"
	;;
*)
	echo "usage: $0 run DIR PROGRAM... | count FILE..." >&2
	exit 2
	;;
esac
