# bench: build rules.  bench/*.c: one program for each question.
BENCH_BINS := $(patsubst bench/%.c,$(BUILD)/bench-bin/%,$(wildcard bench/*.c))

$(BENCH_BINS): $(BUILD)/bench-bin/%: bench/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) -MMD -MP -o $@ $<

all: $(BENCH_BINS)

-include $(BENCH_BINS:=.d)
