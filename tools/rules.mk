# tools: build rules

# krcore-run
PREFIX  ?= /usr/local
VERSION ?= 0.1.0
RUN_OBJS := $(BUILD)/tools/krcore-run.o $(BUILD)/tools/reach.o

all: $(BUILD)/bin/krcore-run

$(RUN_OBJS): $(BUILD)/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) -DKR_VERSION='"$(VERSION)"' \
		-DKR_LIBDIR='"$(PREFIX)/lib"' -MMD -MP -c -o $@ $<

$(BUILD)/bin/krcore-run: $(RUN_OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^

-include $(RUN_OBJS:.o=.d)
