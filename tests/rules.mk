# tests: build rules

# unit: every tests/unit/test_*.c is one program, linked with the core as user
# space compiles it and with the shim's pure parts.  Each is run under ASan and
# UBSan: SAN= turns them off.
SAN       ?= -fsanitize=address,undefined -fno-sanitize-recover=undefined
UNIT_CF    = $(UCFLAGS) $(SAN) -fno-omit-frame-pointer -I$(CURDIR)/kmod -I$(CURDIR)/preload
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
	$(Q)$(CC) $(UNIT_CF) -MMD -MP -o $@ $< $(PURE_OBJS) $(CORE_LIB) -lcriterion

.SECONDARY: $(CORE_OBJS) $(PURE_OBJS)

unit: $(UNIT_BINS)
	$(Q)tests/summary.sh run $(BUILD)/tests/unit $(UNIT_BINS)

-include $(CORE_OBJS:.o=.d) $(PURE_OBJS:.o=.d) $(UNIT_BINS:=.d)

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

# sim: the simulator.  SEEDS=N runs N profiles from SEED on in the fast build;
# sim-test runs fixed seeds under the sanitizers.
SIM_SRCS := $(wildcard tests/sim/*.c)
SIM_CF    = $(UCFLAGS) -I$(CURDIR)/kmod
SIM_OBJS := $(patsubst tests/sim/%.c,$(BUILD)/tests/sim/asan/%.o,$(SIM_SRCS))
SIM_FAST := $(patsubst tests/sim/%.c,$(BUILD)/tests/sim/fast/%.o,$(SIM_SRCS)) \
	    $(patsubst kmod/core/%.c,$(BUILD)/tests/sim/fast/core/%.o,$(wildcard kmod/core/*.c))
SEED     ?= $(shell date +%s)
SEEDS    ?= 1000

$(BUILD)/tests/sim/asan/%.o: tests/sim/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CF) -MMD -MP -c -o $@ $<

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
.PHONY: sim-test

sim: $(BUILD)/tests/sim/krsim
	$(Q)$< --seed $(SEED) --seeds $(SEEDS)

sim-test: $(BUILD)/tests/sim/krsim-asan $(BUILD)/tests/sim/krsim
	$(Q)tests/sim/run.sh $< $(BUILD)/tests/sim/sim.tap
	$(Q)tests/summary.sh count $(BUILD)/tests/sim/sim.tap

# mutants: does the simulator notice bugs?  MUTANTS='NAME...' plants some of them.
.PHONY: mutants
mutants:
	$(Q)tests/sim/mutants $(MUTANTS)

-include $(SIM_OBJS:.o=.d) $(SIM_FAST:.o=.d)

# fuzz: libFuzzer targets, FUZZ_SECONDS each; skipped without clang's runtime.
CLANG        ?= clang
FUZZ_SECONDS ?= 10
FUZZ_CF       = $(UCFLAGS) -fsanitize=fuzzer,address,undefined -I$(CURDIR)/kmod -I$(CURDIR)/tests
FUZZ_BINS    := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

$(BUILD)/tests/fuzz/%: tests/fuzz/%.c $(wildcard kmod/core/*.c kmod/core/*.h tests/unit/*.h)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_CF) -o $@ $< $(filter kmod/core/%.c,$^)

.PHONY: fuzz fuzz-run

fuzz:
	$(Q)if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
		$(CLANG) -w -x c -fsanitize=fuzzer - -o /dev/null 2>/dev/null; then \
		$(MAKE) --no-print-directory fuzz-run; \
	else \
		echo 'fuzz: apt-get install clang libclang-rt-14-dev'; \
		echo "0 passed, 0 failed, $(words $(FUZZ_BINS)) skipped"; \
	fi

fuzz-run: $(FUZZ_BINS)
	$(Q)tests/fuzz/run.sh $(BUILD)/tests/fuzz $(BUILD)/tests/fuzz/fuzz.tap $(FUZZ_SECONDS) $(FUZZ_BINS)
	$(Q)tests/summary.sh count $(BUILD)/tests/fuzz/fuzz.tap
