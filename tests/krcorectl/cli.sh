#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cli: krcorectl's command line, without the module.  TAP on stdout.  Called by
# `make krcorectl-test`, which sets BUILD.

set -u
cd "$(dirname "$0")/../.." || exit
ctl=${BUILD:-$PWD/build}/bin/krcorectl
version=$(sed -n 's/^#define KRCORE_VERSION\t"\(.*\)"$/\1/p' include/krcore/uapi.h)
nr=0

# result STATUS NAME
result()
{
	nr=$((nr + 1))
	if [[ $1 = 0 ]]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		printf '# status %s, out: %s, err: %s\n' "$rc" "${out//$'\n'/ }" \
			"${err//$'\n'/ }"
	fi
}

# expect STATUS OUT ERR ARGUMENT...: OUT and ERR are whole patterns
expect()
{
	local want_rc=$1 want_out=$2 want_err=$3
	shift 3
	out=$("$ctl" "$@" 2>"$tmp")
	rc=$?
	err=$(<"$tmp")
	# shellcheck disable=SC2053
	[[ $rc = "$want_rc" && $out = $want_out && $err = $want_err ]]
	result $? "krcorectl $*"
}

# complete_words WANTED WORD...: the completions of the last word
complete_words()
{
	local wanted=$1
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_krcorectl
	out="${COMPREPLY[*]}" err='' rc=0
	[[ $out = "$wanted" ]]
	result $? "completion of '$*'"
}

# The counters of the module, and those that the manual page explains.
counters()
{
	sed -n '/define KR_STATS/,/[^\\]$/p' kmod/stats.h | grep -o '_([a-z_]*)' |
		sed 's/_(\(.*\))/\1/' | sort
}

explained()
{
	sed -n '/^\.SH COUNTERS/,/^\.SH OPTIONS/s/^\.B \(.*_.*\)$/\1/p' \
		docs/man/krcorectl.8 | sort
}

tmp=$(mktemp) || exit
trap 'rm -f "$tmp"' EXIT

expect 0 'Usage: *--json*Exit status:*' '' --help
expect 0 'Usage: *' '' show -h
expect 0 "krcorectl $version" '' --version
expect 1 '' 'Usage: *'
expect 1 '' "krcorectl: no command 'shwo'*--help*" shwo
expect 1 '' "*'extra' is too much*" show extra
expect 1 '' "*has no option -a*" show -a
expect 1 '' "*has no option -p*" -p stat
expect 1 '' "*has no option -a*" qp -a
mapfile -t many < <(printf -- '-H\n%.0s' {1..70})
expect 1 '' "*has no option -a*" show "${many[@]}" -a
expect 1 '' "*invalid option*--help*" stat -x
if [[ ! -d /sys/module/krcore ]]; then
	for command in show stat host dev qp; do
		expect 2 '' 'krcore is not loaded: *' "$command"
		expect 2 '' 'krcore is not loaded: *' -j "$command"
	done
fi

out=$(diff <(counters) <(explained)) err='' rc=$?
[[ $rc == 0 && $(counters | wc -l) -gt 20 ]]
result $? "krcorectl(8) explains each counter"

. tools/krcorectl.bash
complete_words 'show stat host dev qp' krcorectl ''
complete_words 'show stat' krcorectl s
complete_words 'show stat' krcorectl -j s
complete_words '--listeners' krcorectl show --l
complete_words '' krcorectl stat --l
complete_words '--human' krcorectl qp --hu
complete_words '' krcorectl stat ''
echo "1..$nr"
