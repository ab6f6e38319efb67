# bench: build rules.  bench/*.c: one program for each question; timing.c is
# part of each.
BENCH_BINS := $(patsubst bench/%.c,$(BUILD)/bench-bin/%, \
	      $(filter-out bench/timing.c,$(wildcard bench/*.c)))

$(BENCH_BINS): $(BUILD)/bench-bin/%: bench/%.c bench/timing.c bench/timing.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) -o $@ $< bench/timing.c

all: $(BENCH_BINS)
