#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh KRSIM TAP: the fixed seeds of the regression run, a test per group of
# seeds, as TAP lines into TAP; then the scenarios, in the fast build KRSIM without
# -asan.  What a failed group printed goes to stderr.

set -u
krsim=$1
tap=$2
limit=${SIM_TIMEOUT:-120}

# group NAME ARG...: one test
group()
{
	name=$1
	shift
	if out=$(timeout "$limit" "$krsim" "$@" 2>&1); then
		echo "ok - sim: $name" >>"$tap"
	else
		echo "not ok - sim: $name" >>"$tap"
		printf '%s\n' "$out" >&2
	fi
}

# same NAME ARG...: one test: two runs print the same
same()
{
	name=$1
	shift
	first=$(timeout "$limit" "$krsim" --digest "$@" 2>&1 | grep '^digest')
	second=$(timeout "$limit" "$krsim" --digest "$@" 2>&1 | grep '^digest')
	if [ -n "$first" ] && [ "$first" = "$second" ]; then
		echo "ok - sim: $name" >>"$tap"
	else
		echo "not ok - sim: $name" >>"$tap"
		printf '%s\n' "$first" "$second" >&2
	fi
}

: >"$tap"
if tests/sim/mutants --fits; then
	echo 'ok - sim: the planted bugs fit the source' >>"$tap"
else
	echo 'not ok - sim: the planted bugs fit the source' >>"$tap"
fi
same 'the same run twice' --seed 1 --seeds 3
same 'the same run twice, forty hosts' --seed 2 --seeds 1 hosts=40 nomem=1000 \
	stream_max=20000
group 'seeds 1-20' --seed 1 --seeds 20
group 'seeds 21-40' --seed 21 --seeds 20
group 'seeds 41-60' --seed 41 --seeds 20
group 'seeds 61-80' --seed 61 --seeds 20
group 'changed bytes, seeds 1-20' --flips --seed 1 --seeds 20
group 'silence of minutes' --seed 7 --seeds 3 hosts=2 conns=20 \
	work_ns=900000000000 partitions=10 outage_ns=600000000000 \
	user_timeout_ns=2000000000000
group 'hosts that die' --seed 1 --seeds 10 conns=60 reboots=6 drops=4
group 'a server of hundreds that reboots' --seed 24 --seeds 1 hosts=600 conns=1000 \
	hold=1000000 keepalive=0 storm=1000000 reboots=1 stream_max=2000 \
	forged=0 stale=0 drops=0 loss=0 backlog=4096 give_up_ns=5000000000 \
	partitions=0 reject=0 rash=0 pauses=0
group 'paths that come and go' --seed 1 --seeds 10 conns=60 path_losses=12
group 'paths and associations that come and go on a slow way' --seed 1 --seeds 20 \
	hosts=2 conns=60 path_losses=12 drops=8 delay_ns=10000000 rate=1000000000 \
	work_ns=10000000000 reorder=100000
group 'no memory' --seed 1 --seeds 10 conns=60 nomem=200000
group 'few send slots' --seed 1 --seeds 10 conns=60 slots=1 slot_stops=20
group 'one in three lost' --seed 1 --seeds 10 conns=60 loss=333333
group 'two processes, ten seconds' --seconds 10 --jobs 2 --seed 1000 --seeds 20
group 'windows full of holes' --seed 1 --seeds 10 conns=20 holes=1000 \
	rx_limit=1000000 tx_limit=1000000 stream_max=1000000 mtu=1024
group 'eight hosts' --seed 1 --seeds 3 hosts=8 conns=200
group 'forty hosts' --seed 1 --seeds 2 hosts=40 conns=300 stream_max=20000
group 'a thousand hosts' --seed 1 --seeds 1 hosts=1000 conns=1000 stream_max=2000
group 'windows of a few bytes' --seed 1 --seeds 5 conns=20 rx_limit=600 \
	tx_limit=600 stream_max=20000
group 'idle connections' --seed 1 --seeds 5 conns=100 hold=1000000 keepalive=0
group 'idle connections of hosts that die' --seed 1 --seeds 10 conns=100 \
	hold=1000000 keepalive=0 reboots=4 drops=3
group 'old packets' --seed 1 --seeds 10 conns=60 stale=1000 reboots=3 \
	drops=2 path_losses=6
group 'old packets of hosts that move and are idle' --seed 20 --seeds 10 conns=100 \
	hold=1000000 keepalive=0 options=0 stale=1000 path_losses=10
group 'a forger' --seed 1 --seeds 20 conns=60 hosts=4 forged=300
group 'a peer of another version' --seed 1 --seeds 10 conns=60 \
	strange=100000 corrupt=50000
group 'numbers about to wrap' --seed 1 --seeds 10 conns=60 wrap=1000000
group 'peers that stay when the other leaves' --seed 1 --seeds 5 conns=60 \
	hold=1000000 keepalive=0 leave=500000
group 'hosts that stand still' --seed 1 --seeds 10 conns=60 pauses=8
group 'clocks that jump, timers that are late' --seed 1 --seeds 10 conns=60 \
	jumps=8 late_ns=20000000
group 'a storm of connects' --seed 2 --seeds 1 hosts=2 conns=3000 \
	work_ns=20000000 stream_max=100 backlog=4096 storm=1000000 \
	give_up_ns=5000000000
group 'storms from many hosts to one' --seed 1 --seeds 3 hosts=40 conns=800 \
	stream_max=1000 storm=900000 give_up_ns=5000000000
group 'programs that are killed at any time' --seed 1 --seeds 10 conns=60 hold=0 \
	rash=1000000
group 'listeners that close' --seed 1 --seeds 10 conns=60 unlistens=20
group 'no slot for a VQP' --seed 1 --seeds 5 conns=800 hosts=2 hold=1000000 keepalive=0 \
	small_tables=1 stream_max=1000
group 'within a host' --seed 1 --seeds 10 conns=100 local=700000 nomem=20000
group 'lanes that die' --seed 1 --seeds 10 conns=60 lanes=100 lane_deaths=30000
group 'lanes of large streams' --seed 1 --seeds 5 conns=20 lanes=100 lane_deaths=10000 \
	rx_limit=300000 tx_limit=300000 stream_max=500000
group 'lanes, and paths that come and go' --seed 1 --seeds 10 conns=60 lanes=30 \
	lane_deaths=100000 path_losses=12
group 'lanes of hosts that die or stand still' --seed 1 --seeds 10 conns=60 lanes=100 \
	lane_deaths=30000 reboots=4 drops=3 pauses=4 jumps=4
group 'lanes of idle connections' --seed 1 --seeds 10 conns=60 hold=1000000 keepalive=0 \
	lanes=100 lane_deaths=20000 path_losses=3 forged=300
group 'options that change' --seed 1 --seeds 10 conns=60 options=100000

krsim=${krsim%-asan}
for family in opening recovery silence loss window turns order acks lanes bottleneck; do
	group "time of $family" --scenarios "$family"
done
