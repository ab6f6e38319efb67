#!/bin/bash
# SPDX-License-Identifier: MIT
# Unmodified programs over loopback and between namespaces, and rmmod after them.
. tests/vm/lib.sh

need iperf3 redis-server redis-benchmark
lab -n 1 -- 'other_namespace
	kr iperf3 -s >/dev/null 2>&1 & lab-wait-port 5201
	kr ip netns exec other iperf3 -s >/dev/null 2>&1 &
	ip netns exec other lab-wait-port 5201
	for host in 127.0.0.1 ::1 10.78.0.1 10.78.0.2 fd78::2; do
		for options in "" -R "-P 4"; do
			mark
			kr timeout 90 iperf3 -c $host -t 2 $options >/run/iperf3.log ||
				{ cat /run/iperf3.log; fail "iperf3 $host $options"; }
			tail -n 3 /run/iperf3.log
			over_local_only 1000000
		done
	done
	kr redis-server --port 6379 --save "" --dir /tmp >/dev/null 2>&1 &
	redis=$!
	lab-wait-port 6379 "" 60
	mark
	kr timeout 300 redis-benchmark -n 5000 -c 20 -d 200 -t ping,set,get,lrange_100 -q
	over_local_only 5000000
	kill $redis
	pkill iperf3
	within 60 rmmod krcore
	load
	mark
	serve
	AT=127.0.0.1 cases bulk.sizes
	over_local 100000'
