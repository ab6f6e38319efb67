#!/bin/bash
# SPDX-License-Identifier: MIT
# A host loses its RDMA device under load, then both do: connections go on over TCP.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'needs the module'
need iperf3

# For the hosts: each step waits for a file of the other's.
common='
no_device() { timeout 60 rdma link delete rxe0; }
device() { rdma link add rxe0 type rxe netdev eth0; }
say() { : >"$OUT/$1"; }
path_is() { krcorectl -j host | grep -q "\"path\": *\"$1\""; }
# The counters of a device begin with it: what went by UD, not by a TCP lane or an RC QP.
no_rc() { echo 0 >/sys/module/krcore/parameters/rc_max; }
by_device()
{
	local moved
	moved=$(krcorectl -j dev | grep -o "\"[tr]x_bytes\": *[0-9]*" |
		awk "{ n += \$2 } END { print n + 0 }")
	echo "by the device: $moved bytes"
	((moved >= $1)) || fail "expected $1 bytes by the device, got $moved"
}
has_lane() { krcorectl -j qp | grep -q "\"kind\": *\"tcp\""; }
'
lab --timeout 900 -- "$common"'
	"$SOCKTEST" server >/dev/null 2>&1 &
	server=$!
	lab-wait-port 7654
	kr iperf3 -s >/dev/null 2>&1 &
	lab-wait-port 5201
	wait_file "$OUT/both" 600
	no_device
	say gone
	wait_file "$OUT/back" 600
	device
	within 60 path_is READY
	echo "TCP lanes: $(counter tcp_lanes)"
	(($(counter tcp_lanes) > 0)) || fail "no TCP lane here"
	wait_file "$OUT/idle" 600
	pkill -KILL -P $server || true
	kill -KILL $server
	pkill -KILL -x iperf3
	within 60 rmmod krcore
	if ss -Htan "( sport = :981 or dport = :981 )" | grep .; then fail "TCP is left"; fi' \
"$common"'
	lab-wait-port 5201 h1
	# One device, while bytes go both ways, on several connections and by iperf3.
	cases --timeout 400 --bytes 40000000 bulk.both_ways bulk.parallel &
	load=$!
	kr timeout 300 iperf3 -c h1 -t 20 --bidir >/run/iperf3.log &
	iperf=$!
	sleep 4
	kill -0 $load $iperf
	no_device
	no_rc
	within 20 has_lane
	echo "TCP lanes: $(counter tcp_lanes)"
	wait $iperf || { cat /run/iperf3.log; fail iperf3; }
	tail -n 6 /run/iperf3.log
	wait $load
	device
	# With live connections alone or new ones, the path comes back; RDMA carries again.
	within 60 eval "cases bulk.sizes; path_is READY"
	mark
	cases --bytes 1000000 bulk.both_ways
	over_rdma_only 2000000
	by_device 2000000
	# A connection that is idle when the device goes, and used while it is away.
	broken silent.link_returns "no_device; within 20 has_lane; device
		within 60 path_is READY; mark" --bytes 4000000
	# It has moved back by itself.
	by_device 4000000
	# Both devices, then one of them, then the other; it ends by RDMA.
	broken silent.link_returns "no_device; say both; wait_file \$OUT/gone
		within 20 has_lane" --bytes 4000000
	cases bulk.sizes
	device
	say back
	within 60 eval "cases bulk.sizes; path_is READY"
	mark
	cases --bytes 4000000 bulk.both_ways
	over_rdma_only 8000000
	by_device 8000000
	say idle
	within 60 rmmod krcore
	if ss -Htan "( sport = :981 or dport = :981 )" | grep .; then fail "TCP is left"; fi'
