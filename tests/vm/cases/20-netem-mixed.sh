#!/bin/bash
# SPDX-License-Identifier: MIT
# Loss, duplication and reordering: byte-exact both ways.
. tests/vm/lib.sh

lab --netem 'delay 2ms loss 1% duplicate 1% reorder 25%' -- 'serve' 'mark
	cases --bytes 8000000 bulk send_recv. close.in_flight shutdown.crossing many.churn
	over_rdma_only 30000000'
