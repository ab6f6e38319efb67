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
	[ $# -gt 0 ] || { echo '0 passed, 0 failed, 0 skipped'; return; }
	awk '
	BEGIN { for (i = 1; i < ARGC; i++) silent[ARGV[i]] = 1 }
	/^ok / && /# *SKIP/ { skipped++; delete silent[FILENAME]; next }
	/^ok / { passed++; delete silent[FILENAME]; next }
	/^not ok / {
		failed++
		delete silent[FILENAME]
		printf "%s: %s\n", FILENAME, $0
		next
	}
	/^1\.\.0/ { delete silent[FILENAME] }
	END {
		for (file in silent) {
			printf "%s: no results\n", file
			failed++
		}
		printf "%d passed, %d failed, %d skipped\n",
			passed, failed, skipped
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
