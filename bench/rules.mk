# bench: build rules.  bench/*.c: one program for each question; timing.c is
# part of each.  cmconnect is left out where its libraries are not installed;
# `make cmconnect` says which.
CM_PKGS := librdmacm libibverbs
HAVE_CM := $(shell pkg-config --exists $(CM_PKGS) && echo yes)

BENCH_BINS := $(patsubst bench/%.c,$(BUILD)/bench-bin/%, \
	      $(filter-out bench/timing.c bench/cmconnect.c,$(wildcard bench/*.c)))
CMCONNECT := $(BUILD)/bench-bin/cmconnect

$(BENCH_BINS): $(BUILD)/bench-bin/%: bench/%.c bench/timing.c bench/timing.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) -o $@ $< bench/timing.c

.PHONY: cmconnect
cmconnect: $(CMCONNECT)

$(CMCONNECT): bench/cmconnect.c bench/timing.c bench/timing.h
	$(if $(HAVE_CM),,$(error cmconnect: install librdmacm-dev and libibverbs-dev))
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) $(shell pkg-config --cflags $(CM_PKGS)) -o $@ $< \
		bench/timing.c $(shell pkg-config --libs $(CM_PKGS))

all: $(BENCH_BINS) $(if $(HAVE_CM),$(CMCONNECT))
