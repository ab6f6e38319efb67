# krcore: one command each.  V=1 shows the commands.  Each room has its own
# rules.mk; objects go to build/.
#
#   make demo    two lab hosts, iperf3 and sockperf over krcore beside TCP
#   make test    everything: unit, simulator, shim, ABI and lab tests
#   make         module, shim and tools, into build/

BUILD   := $(CURDIR)/build
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
CC      ?= gcc
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wno-unused-parameter -Werror
UCFLAGS  = -std=gnu11 $(CFLAGS) $(WARN) -I$(CURDIR)/include -D_GNU_SOURCE

.PHONY: all deps demo test unit sim vm-test check bench clean help
all:

include kmod/rules.mk preload/rules.mk tools/rules.mk tests/rules.mk bench/rules.mk

help:
	@sed -n '/^#/!q;s/^# \{0,1\}//p' Makefile

clean:
	$(Q)rm -rf $(BUILD)
