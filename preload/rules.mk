# preload: build rules
PRELOAD_LIB  := $(BUILD)/lib/libkrcore-preload.so
PRELOAD_OBJS := $(patsubst preload/%.c,$(BUILD)/preload/%.o,$(wildcard preload/*.c))

.PHONY: preload
all preload: $(PRELOAD_LIB)

$(BUILD)/preload/%.o: preload/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(PRELOAD_LIB): $(PRELOAD_OBJS) preload/preload.map
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,defs -Wl,-z,now \
		-Wl,--version-script=preload/preload.map -o $@ $(PRELOAD_OBJS)

-include $(PRELOAD_OBJS:.o=.d)

# The shim in this machine's kernel, and in one that answers as told.
PRELOAD_TESTS := $(patsubst tests/preload/%.c,$(BUILD)/tests/preload/%,$(wildcard tests/preload/*.c))

$(BUILD)/tests/preload/%: tests/preload/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) -MMD -MP -pthread -o $@ $<

.PHONY: preload-test
preload-test: $(PRELOAD_LIB) $(BUILD)/bin/krcore-run $(PRELOAD_TESTS)
	$(Q)BUILD=$(BUILD) CC="$(CC)" tests/preload/run.sh

-include $(PRELOAD_TESTS:=.d)
