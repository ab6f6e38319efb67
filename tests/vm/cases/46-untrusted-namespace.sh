#!/bin/bash
# SPDX-License-Identifier: MIT
# Who owns a namespace lies there about a host: all others keep it.
. tests/vm/lib.sh

need python3 unshare nsenter
[[ $KR_PROTO == krcore ]] || skip "about krcore's hello"
lab --timeout 300 -- 'kr python3 tests/apps/liar.py echo 7000 >/dev/null 2>&1 & lab-wait-port 7000
	wait_file "$OUT/stop"' '
	lab-wait-port 7000 h1
	liar="tests/apps/liar.py"
	host=$(getent ahostsv4 h1 | sed -n "1s/ .*//p")
	me=$(ip -4 route get "$host" | sed -n "s/.* src \([0-9.]*\).*/\1/p")
	trap ": >\"$OUT/stop\"" EXIT
	echo 1 >/sys/module/krcore/parameters/ready_ttl_s
	python3 $liar ask "$me" "$host" /run/truth

	# A namespace with the address of this host, in which the other one is a liar.
	echo true >/run/mode
	unshare -Urn bash -ec "
		ip link set lo up
		ip link add mine type veth peer name its
		ip link set its address 02:00:00:00:00:01 up
		ip link set mine up
		ip addr add $me/24 dev mine
		ip neigh replace $host lladdr 02:00:00:00:00:01 nud permanent dev mine
		exec python3 $liar lie its /run/mode /run/truth" >>/run/told &
	user=$!
	within 60 grep -q ready /run/told
	try()
	{
		nsenter -t $user -U -n --preserve-credentials \
			krcore-run timeout 10 python3 $liar try "$host" 7000 "$@" 2>/run/try.log
	}
	fails() { ! try "$@"; }
	has_path() { (($(counter paths_ready) > 0)); }
	told() { : >/run/told; echo "$1" >/run/mode; within 20 tried "$1"; }
	tried() { try || :; grep -q "told $1" /run/told; }

	# Nobody else has a path yet, and there is no other way.
	told true
	fails || fail "the first connection worked"
	! has_path || fail "an answer there made a path"

	kr python3 $liar hold "$host" 7000 /run/stop & held=$!
	within 20 has_path
	within 30 try
	try 2000 || fail "no connection from port 2000"
	fails 1000 || fail "a connection from port 1000 that is not of a user"
	before="$(counter hosts_gone) $(counter paths_ready) $(counter paths_failed)"

	told instance
	within 20 fails
	told end
	fails
	after="$(counter hosts_gone) $(counter paths_ready) $(counter paths_failed)"
	[[ $before == "$after" ]] || fail "hosts or paths changed: $before, then $after"
	told true
	within 30 try

	: >/run/stop
	wait $held || fail "the connection of this host did not live on"
	kill $user'
