#!/bin/bash
# SPDX-License-Identifier: MIT
# The whole table over krcore, IPv6.
. tests/vm/lib.sh

lab --timeout 1500 -- 'serve' 'mark; cases --bytes 2000000 -6; over_rdma 40000000'
