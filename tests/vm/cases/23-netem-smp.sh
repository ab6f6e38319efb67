#!/bin/bash
# SPDX-License-Identifier: MIT
# Last bytes and ends that come while another processor looks for them.
. tests/vm/lib.sh

lab --smp 2 --netem 'delay 2ms loss 1% duplicate 1% reorder 25%' -- 'serve' 'mark
	for round in 1 2 3; do cases shutdown.crossing; done
	over_rdma_only 400000'
