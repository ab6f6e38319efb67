# tools: build rules

# krcore-run
PREFIX  ?= /usr/local
RUN_OBJS := $(BUILD)/tools/krcore-run.o $(BUILD)/tools/reach.o $(BUILD)/tools/run_line.o

all: $(BUILD)/bin/krcore-run

$(RUN_OBJS): $(BUILD)/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) -DKR_LIBDIR='"$(PREFIX)/lib"' -MMD -MP -c -o $@ $<

$(BUILD)/bin/krcore-run: $(RUN_OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^

-include $(RUN_OBJS:.o=.d)

# krcorectl
CTL_OBJS := $(patsubst tools/%.c,$(BUILD)/tools/%.o,$(wildcard tools/krcorectl*.c))
CTL_PKGS := libnl-genl-3.0 json-c
CTL_LIBS  = $(shell pkg-config --libs $(CTL_PKGS))

all: $(BUILD)/bin/krcorectl

$(CTL_OBJS): $(BUILD)/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) $(shell pkg-config --cflags $(CTL_PKGS)) -MMD -MP -c -o $@ $<

$(BUILD)/bin/krcorectl: $(CTL_OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(CTL_LIBS)

-include $(CTL_OBJS:.o=.d)

# the lab
.PHONY: lab-prepare lab-test

lab-prepare:
	$(Q)tools/lab/lab prepare

lab-test:
	$(Q)tests/vm/lab_selftest.sh

# Its texts, with messages that the test makes up.
CTL_TEST      := $(BUILD)/tests/krcorectl/test_krcorectl
CTL_TEST_SRCS := tests/krcorectl/test_krcorectl.c $(filter-out tools/krcorectl.c,$(wildcard tools/krcorectl*.c))

$(CTL_TEST): $(CTL_TEST_SRCS) tools/krcorectl.h include/krcore/uapi.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) $(SAN) -Itools $(shell pkg-config --cflags $(CTL_PKGS)) \
		-o $@ $(CTL_TEST_SRCS) $(CTL_LIBS) -lcriterion

.PHONY: krcorectl-test abi-test
krcorectl-test: $(CTL_TEST) $(BUILD)/bin/krcorectl
	$(Q)tests/summary.sh run $(BUILD)/tests/krcorectl $(CTL_TEST) >/dev/null || :
	$(Q)BUILD=$(BUILD) tests/krcorectl/cli.sh >$(BUILD)/tests/krcorectl/cli.tap
	$(Q)tests/summary.sh count $(CTL_TEST).tap $(BUILD)/tests/krcorectl/cli.tap

# The public headers, alone.
abi-test:
	$(Q)BUILD=$(BUILD) CC="$(CC)" tests/abi/run.sh
