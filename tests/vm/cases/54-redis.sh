#!/bin/bash
# SPDX-License-Identifier: MIT
# redis-server and redis-benchmark.
. tests/vm/lib.sh

need redis-server redis-benchmark
lab -- 'kr redis-server --port 6379 --bind 0.0.0.0 --protected-mode no --save "" --dir /tmp >/dev/null 2>&1 & lab-wait-port 6379 "" 60' \
	'lab-wait-port 6379 h1
	mark
	kr timeout 300 redis-benchmark -h 10.77.0.1 -n 5000 -c 20 -d 200 -t ping,set,get,lrange_100 -q
	kr timeout 100 redis-benchmark -h 10.77.0.1 -n 5000 -c 20 -P 16 -t set,get -q
	over_rdma_only 5000000'
