# krcore: one command each.  V=1 shows the commands.  Each room has its own
# rules.mk; objects go to build/.
#
#   make demo     two lab hosts, iperf3 and sockperf over krcore beside TCP;
#                 about 3 minutes on a quiet machine, once installed and built
#   make test     everything: unit, simulator, fuzz, shim, ABI and lab tests
#   make          module, shim and tools, into build/
#
#   make deps     install the packages that all this needs (demo and test do)
#   make bench    the demo's questions and more, beside raw verbs and rsocket
#   make unit     the unit tests; abi-test krcorectl-test preload-test sim-test
#                 lab-test: the other parts of make test
#   make vm-test  all lab cases; VM_ARGS='-k netem' for some of them
#   make sim      SEEDS=1000 random profiles in the simulator, HOSTS=2 to 1000,
#                 JOBS=1 process; hunt: for HUNT_SECONDS; krsim: build it
#   make mutants  plant known bugs: does the simulator notice?  shrink-test: are the
#                 traces of some short?
#   make tsan     unit tests, shim and simulator under ThreadSanitizer
#   make fuzz     FUZZ_SECONDS=60 any bytes to each decoder; afl: by AFL++;
#                 fuzz-seeds: new seeds of what was found
#   make check    sparse and cppcheck
#   make install  module, shim, tools, man pages; PREFIX=/usr/local; uninstall

BUILD   := $(CURDIR)/build
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
CC      ?= gcc
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wno-unused-parameter -Werror
UCFLAGS  = -std=gnu11 $(CFLAGS) $(WARN) -I$(CURDIR)/include -D_GNU_SOURCE

.PHONY: all deps demo test unit sim vm-test check bench install uninstall clean help
all:

include kmod/rules.mk preload/rules.mk tools/rules.mk tests/rules.mk bench/rules.mk

help:
	@sed -n '/^#/!q;s/^# \{0,1\}//p' Makefile

deps:
	$(Q)tools/setup

# In turn, whatever -j says: what deps installs decides what all builds.
demo bench test: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(RUN_$@)

RUN_demo  = bench/run demo
RUN_bench = bench/run bench
RUN_test  = tests/all

check: sparse
	$(Q)cppcheck -q --error-exitcode=1 --inline-suppr preload bench $(wildcard tools/*.c)

install: all
	$(Q)tools/install

uninstall:
	$(Q)tools/uninstall

clean:
	$(Q)rm -rf $(BUILD)
