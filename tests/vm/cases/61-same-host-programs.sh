#!/bin/bash
# SPDX-License-Identifier: MIT
# Unmodified programs over loopback and between namespaces, and rmmod after them.
. tests/vm/lib.sh

need iperf3 redis-server redis-benchmark
lab -n 1 -- 'other_namespace
	kr iperf3 -s >/dev/null 2>&1 & lab-wait-port 5201
	kr ip netns exec other iperf3 -s >/dev/null 2>&1 &
	ip netns exec other lab-wait-port 5201
	bulk()
	{
		mark
		kr timeout 90 iperf3 -t 2 "$@" >/run/iperf3.log ||
			{ cat /run/iperf3.log; fail "iperf3 $*"; }
		tail -n 3 /run/iperf3.log
		over_local_only 1000000
	}
	for options in "" -R --bidir "-P 4"; do
		bulk -c 127.0.0.1 $options
		bulk -c fd78::2 $options
	done
	for host in ::1 10.78.0.1 10.78.0.2; do
		bulk -c $host
	done
	kr redis-server --port 6379 --save "" --dir /tmp >/dev/null 2>&1 &
	lab-wait-port 6379 "" 60
	mark
	kr timeout 300 redis-benchmark -n 2000 -c 20 -d 200 -t ping,set,get,lrange_100 -q \
		>/run/redis.log || { cat /run/redis.log; fail redis-benchmark; }
	tr "\r" "\n" </run/redis.log | grep "per second"
	over_local_only 2000000
	pkill redis-server
	pkill iperf3
	within 60 rmmod krcore
	load
	mark
	serve
	AT=127.0.0.1 cases bulk.sizes
	over_local 100000'
