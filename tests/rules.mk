# tests: build rules

# unit: every tests/unit/test_*.c is one program, linked with the core as user
# space compiles it and with the shim's pure parts.  Each is run under ASan and
# UBSan: SAN= turns them off.
SAN       ?= -fsanitize=address,undefined -fno-sanitize-recover=undefined
UNIT_CF    = $(UCFLAGS) $(SAN) -fno-omit-frame-pointer -I$(CURDIR)/kmod -I$(CURDIR)/preload
UNIT_LIBS ?= -lcriterion
CORE_LIB  := $(BUILD)/core/libkrcore-core.a
CORE_OBJS := $(patsubst kmod/core/%.c,$(BUILD)/core/%.o,$(wildcard kmod/core/*.c))
PURE_OBJS := $(BUILD)/tests/pure/policy.o $(BUILD)/tests/pure/line.o
UNIT_BINS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))

$(BUILD)/core/%.o: kmod/core/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CF) -MMD -MP -c -o $@ $<

$(CORE_LIB): $(CORE_OBJS)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/pure/%.o: preload/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CF) -MMD -MP -c -o $@ $<

$(BUILD)/tests/unit/test_%: tests/unit/test_%.c $(CORE_LIB) $(PURE_OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CF) -MMD -MP -o $@ $< $(PURE_OBJS) $(CORE_LIB) $(UNIT_LIBS)

.SECONDARY: $(CORE_OBJS) $(PURE_OBJS)

unit: $(UNIT_BINS)
	$(Q)tests/summary.sh run $(BUILD)/tests/unit $(UNIT_BINS)

-include $(CORE_OBJS:.o=.d) $(PURE_OBJS:.o=.d) $(UNIT_BINS:=.d)

# tsan: the unit tests, some of the simulator, and the shim in a threaded program
# under ThreadSanitizer, in a build of its own.
.PHONY: tsan tsan-run
tsan:
	$(Q)$(MAKE) --no-print-directory -j2 tsan-run BUILD=$(BUILD)/tsan SAN= UNIT_LIBS= \
		CFLAGS='-O1 -g -fsanitize=thread -I$(CURDIR)/tests/unit/plain'

tsan-run: $(UNIT_BINS) $(BUILD)/tests/sim/krsim $(PRELOAD_LIB) $(PRELOAD_TESTS)
	$(Q)tests/tsan.sh $(BUILD) $(UNIT_BINS)

# vm: socktest, the socket conformance suite, and the lab cases that run it.
SOCKTEST_OBJS := $(patsubst tests/vm/%.c,$(BUILD)/tests/vm/%.o,$(wildcard tests/vm/*.c))

$(BUILD)/tests/vm/%.o: tests/vm/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/vm/socktest: $(SOCKTEST_OBJS)
	$(Q)$(CC) -o $@ $^ -lpthread

all: $(BUILD)/tests/vm/socktest

# VM_ARGS='-k netem' runs some of them.
vm-test: all
	$(Q)tests/vm/run $(VM_ARGS)

-include $(SOCKTEST_OBJS:.o=.d)

# sim: the simulator for long hunts.  SEEDS=N runs N profiles from SEED on in JOBS
# processes; HOSTS=N sets how many hosts each has, SIM_ARGS takes more of krsim's options.
# Its build is the fast one, laid out by what some seeds of it did, and half as fast again.
# sim-test runs fixed seeds under the sanitizers; krsim builds what to try things with.
SIM_SRCS := $(wildcard tests/sim/*.c)
SIM_OPT  ?= -O3 -flto=auto
SIM_CF    = $(UCFLAGS) $(SIM_OPT) -DSIM_HAS_POOL=1 -I$(CURDIR)/kmod
SIM_OBJS := $(patsubst tests/sim/%.c,$(BUILD)/tests/sim/asan/%.o,$(SIM_SRCS))
SIM_FAST := $(patsubst tests/sim/%.c,$(BUILD)/tests/sim/fast/%.o,$(SIM_SRCS)) \
	    $(patsubst kmod/core/%.c,$(BUILD)/tests/sim/fast/core/%.o,$(wildcard kmod/core/*.c))
SEED     ?= $(shell date +%s)
SEEDS    ?= 1000
JOBS     ?= $(shell nproc)

$(BUILD)/tests/sim/asan/%.o: tests/sim/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CF) -DSIM_HAS_POOL=0 -MMD -MP -c -o $@ $<

$(BUILD)/tests/sim/fast/%.o: tests/sim/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(SIM_CF) -MMD -MP -c -o $@ $<

$(BUILD)/tests/sim/fast/core/%.o: kmod/core/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(SIM_CF) -MMD -MP -c -o $@ $<

$(BUILD)/tests/sim/krsim-asan: $(SIM_OBJS) $(CORE_LIB)
	$(Q)$(CC) $(UNIT_CF) -o $@ $^

$(BUILD)/tests/sim/krsim: $(SIM_FAST)
	$(Q)$(CC) $(SIM_CF) -o $@ $^

.SECONDARY: $(SIM_OBJS) $(SIM_FAST)
.PHONY: krsim krsim-asan sim-test
krsim krsim-asan: %: $(BUILD)/tests/sim/%

SIM_PGO    = $(BUILD)/tests/sim/pgo
# Objects of their own: a profile is found by the object's name, and core and the simulator
# have files of the same name.
SIM_PGO_CC = for c in $(filter %.c,$^); do echo $$c; done | xargs -P $(JOBS) -I {} sh -c \
		'$(CC) $(SIM_CF) -march=native $(1) -c -o $(SIM_PGO)/$$(echo {} | tr / -).o {}' && \
	     $(CC) $(SIM_CF) $(1) -o $(SIM_PGO)/krsim $(SIM_PGO)/*.o

$(BUILD)/tests/sim/krsim-pgo: $(SIM_SRCS) $(wildcard kmod/core/*.c kmod/core/*.h tests/sim/*.h)
	@echo 'building the simulator for long hunts, a minute'
	@rm -rf $(SIM_PGO) && mkdir -p $(SIM_PGO)
	$(Q)$(call SIM_PGO_CC,-fprofile-generate)
	$(Q)$(SIM_PGO)/krsim --seed 1 --seeds 120 >$(SIM_PGO)/said
	$(Q)$(call SIM_PGO_CC,-fprofile-use)
	$(Q)mv $(SIM_PGO)/krsim $@

sim: $(BUILD)/tests/sim/krsim-pgo
	$(Q)$< --seed $(SEED) --seeds $(SEEDS) --jobs $(JOBS) $(SIM_ARGS) $(HOSTS:%=hosts=%)

# hunt: random seeds for HUNT_SECONDS; one test, which a failed checker fails.
HUNT_SECONDS ?= 20
.PHONY: hunt
hunt: $(BUILD)/tests/sim/krsim
	$(Q)if $< --seed $(SEED) --seeds 1000000 --seconds $(HUNT_SECONDS) --jobs $(JOBS); then \
		echo '1 passed, 0 failed, 0 skipped'; \
	else \
		echo '0 passed, 1 failed, 0 skipped'; exit 1; \
	fi

sim-test: $(BUILD)/tests/sim/krsim-asan $(BUILD)/tests/sim/krsim
	$(Q)tests/sim/run.sh $< $(BUILD)/tests/sim/sim.tap
	$(Q)tests/summary.sh count $(BUILD)/tests/sim/sim.tap

# mutants: does the simulator notice bugs?  MUTANTS='NAME...' plants some of them.
# shrink-test: does --shrink make short traces of some?
SHRINK_MUTANTS = ignored-rst lost-last-word window-overrun own-window-moved
.PHONY: mutants shrink-test
shrink-test:
	$(Q)tests/sim/mutants --shrink --seeds 400 $(SHRINK_MUTANTS)

mutants:
	$(Q)tests/sim/mutants $(MUTANTS)

-include $(SIM_OBJS:.o=.d) $(SIM_FAST:.o=.d)

# fuzz: libFuzzer, FUZZ_SECONDS for each target beyond its fixed runs.  afl: AFL++
# over the same targets, AFL_SECONDS for each.  FUZZ='wire input' takes some of them.
# Seeds are in tests/fuzz/corpus; what is found is kept under build/, and fuzz-seeds
# makes new seeds of both.
CLANG        ?= clang
FUZZ_CC      ?= $(CLANG)
FUZZ_OUT     ?= $(BUILD)/tests/fuzz
FUZZ         ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_SECONDS ?= 10
AFL_SECONDS  ?= 10
FUZZ_CF       = $(UCFLAGS) -fsanitize=address,undefined -fno-sanitize-recover=undefined \
		-fno-omit-frame-pointer -I$(CURDIR)/tools -I$(CURDIR)/preload \
		-I$(CURDIR)/kmod -I$(CURDIR)/tests $(shell pkg-config --cflags $(CTL_PKGS))
FUZZED       := $(wildcard kmod/core/*.c) preload/policy.c preload/line.c tools/reach.c tools/run_line.c \
		$(filter-out tools/krcorectl.c,$(wildcard tools/krcorectl_*.c))
FUZZ_OBJS    := $(FUZZED:%.c=$(FUZZ_OUT)/%.o)
FUZZ_BINS    := $(FUZZ:%=$(FUZZ_OUT)/fuzz_%)

$(FUZZ_OBJS): $(FUZZ_OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CF) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(FUZZ_OUT)/fuzzed.a: $(FUZZ_OBJS)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(FUZZ_OUT)/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_OUT)/fuzzed.a
	$(Q)$(FUZZ_CC) $(FUZZ_CF) -fsanitize=fuzzer -MMD -MP -o $@ $< $(FUZZ_OUT)/fuzzed.a \
		-Wl,--as-needed $(CTL_LIBS)

.PHONY: fuzz fuzz-bins fuzz-seeds afl

fuzz-bins: $(FUZZ_BINS)

# fuzz_have COMPILER PACKAGES: without it nothing is passed.
fuzz_have = echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
	AFL_QUIET=1 $(1) -w -fsanitize=fuzzer -x c - -x none -o /dev/null 2>/dev/null || \
	{ echo '$@: $(1) is missing: apt-get install $(2)'; \
	  echo '0 passed, 1 failed, 0 skipped'; exit 1; }

fuzz:
	$(Q)$(call fuzz_have,$(CLANG),clang libclang-rt-14-dev)
	$(Q)$(MAKE) --no-print-directory -j2 fuzz-bins
	$(Q)tests/fuzz/run.sh libfuzzer $(FUZZ_OUT) $(FUZZ_SECONDS) $(FUZZ)
	$(Q)tests/summary.sh count $(FUZZ_OUT)/fuzz.tap

fuzz-seeds: $(FUZZ_BINS)
	$(Q)tests/fuzz/run.sh seeds $(FUZZ_OUT) 0 $(FUZZ)
	$(Q)tests/summary.sh count $(FUZZ_OUT)/fuzz.tap

afl:
	$(Q)$(call fuzz_have,afl-clang-fast,afl++)
	$(Q)AFL_QUIET=1 $(MAKE) --no-print-directory -j2 fuzz-bins FUZZ_CC=afl-clang-fast \
		FUZZ_OUT=$(BUILD)/tests/afl
	$(Q)tests/fuzz/run.sh afl $(BUILD)/tests/afl $(AFL_SECONDS) $(FUZZ)
	$(Q)tests/summary.sh count $(BUILD)/tests/afl/fuzz.tap

-include $(FUZZ_OBJS:.o=.d) $(FUZZ_BINS:=.d)
