#!/bin/bash
# SPDX-License-Identifier: MIT
# The whole table over kernel TCP: the cases themselves are right here.
. tests/vm/lib.sh

KR_PROTO=tcp
lab --no-krcore -- 'serve' 'cases --bytes 2000000 -4; cases --bytes 2000000 -6'
