#!/bin/bash
# SPDX-License-Identifier: MIT
# One host has no RDMA device: plain TCP from the first byte.
. tests/vm/lib.sh

lab --no-rdma 1 --timeout 1500 -- 'serve' 'mark
	cases --bytes 1000000
	over_tcp_only'
