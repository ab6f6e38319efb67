# kmod: build rules
#
# The kernel's own build runs in build/kmod, on links to the sources, so that
# this folder stays clean.  Another kernel: make KDIR=/lib/modules/X/build
KDIR ?= $(lastword $(shell ls -vd /usr/src/linux-headers-6.1.0-*-amd64 2>/dev/null))
KOUT := $(BUILD)/kmod
KMOD := $(KOUT)/krcore.ko
KMOD_SRCS := $(wildcard kmod/*.[ch] kmod/core/*.[ch] include/krcore/*.h)
# One build at a time, whoever else runs make.
KBUILD = flock $(BUILD)/kmod.lock $(MAKE) --no-print-directory -C $(KDIR) \
	M=$(KOUT) W=1 V=$(V) modules

.PHONY: module kmod-links sparse

# Folders too: a file that is gone must leave the module.
$(KMOD): $(KMOD_SRCS) kmod/Kbuild kmod kmod/core
	@test -n "$(KDIR)" || { echo "no kernel headers: apt install linux-headers-amd64" >&2; exit 1; }
	@$(MAKE) --no-print-directory kmod-links
	$(Q)$(KBUILD)
	@touch $@

kmod-links:
	@mkdir -p $(KOUT)/core $(KOUT)/include
	@find $(KOUT) -xtype l -delete
	@ln -sfn $(CURDIR)/include/krcore $(KOUT)/include/krcore
	@ln -sf $(abspath $(wildcard kmod/*.[ch]) kmod/Kbuild) $(KOUT)
	@ln -sf $(abspath $(wildcard kmod/core/*.[ch])) $(KOUT)/core

module: $(KMOD)

all: $(KMOD)

# Every file again, under sparse.
sparse: kmod-links
	$(Q)$(KBUILD) C=2 CF=-D__CHECK_ENDIAN__
