#!/bin/bash
# SPDX-License-Identifier: MIT
# Idle connections (KR_CONNS, default 1000) use the same few QPs as one.
. tests/vm/lib.sh

conns=${KR_CONNS:-1000}
lab -m 2G -- "serve" "cases bulk.sizes
	one=\$(nr_qps)
	mark
	cases --timeout $((300 + conns / 25)) --conns $conns many.idle &
	test=\$!
	most=0
	while kill -0 \$test 2>/dev/null; do
		now=\$(nr_qps)
		((now > most)) && most=\$now
		sleep 0.5
	done
	wait \$test
	over_rdma_only $conns
	echo \"QPs: \$one with one connection, \$most with $conns\"
	((most <= one)) || fail 'QPs grew with connections'"
