/* SPDX-License-Identifier: MIT */
/*
 * profile: a QEMU plugin that samples where the guest's processors are.
 *
 *	-plugin profile.so,out=FILE,switch=PATH
 *
 * Every translation block notes itself when it runs; a thread looks 2000 times a
 * second, in real time, which block each processor ran last, as long as the file
 * PATH exists; when it is gone FILE gets one line a block: its address,
 * samples, how often it ran and the instructions that it executed.
 * So it sees interrupts, softirq and code with interrupts off alike, which no
 * profiler inside an emulated guest without a PMU does.  What a block costs in
 * the emulator (helpers, page walks) counts as the block's own; instructions do
 * not depend on that nor on what else the machine does.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* QEMU's plugin interface, version 1 (docs/devel/tcg-plugins): what is used here. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_info;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
	void (*cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
	void (*cb)(unsigned int cpu, void *data), int flags, void *data);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb,
	int op, void *ptr, uint64_t imm);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);

enum { INLINE_ADD_U64 = 0 };

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			       int argc, char **argv);

enum {
	CPUS_MAX = 64,
	BUCKETS = 1 << 16,
	PERIOD_NS = 500 * 1000,
	LOOK_EVERY = 20,		/* periods, for the switch */
};

#define USER_END 0x8000000000000000ull	/* below: programs, taken as one block */

struct block {
	struct block *next;
	uint64_t addr;
	uint64_t samples;
	uint64_t runs;
	uint64_t instructions;		/* counted from the start of the host */
	uint64_t instructions_before;	/* when the switch went on */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects buckets */
static struct block *buckets[BUCKETS];
static struct block *current[CPUS_MAX];
static char *out_path, *switch_path;
static int is_on;

static struct block *find(uint64_t addr)
{
	struct block **at, *b;

	if (addr < USER_END)
		addr = 0;
	pthread_mutex_lock(&lock);
	for (at = &buckets[(addr >> 1 ^ addr >> 17) % BUCKETS]; *at; at = &(*at)->next)
		if ((*at)->addr == addr)
			break;
	if (!*at && (b = calloc(1, sizeof(*b)))) {
		b->addr = addr;
		*at = b;
	}
	b = *at;
	pthread_mutex_unlock(&lock);
	return b;
}

static void on_exec(unsigned int cpu, void *data)
{
	struct block *b = data;

	if (cpu < CPUS_MAX)
		__atomic_store_n(&current[cpu], b, __ATOMIC_RELAXED);
	/* Two processors may lose a count; it is only a profile. */
	if (is_on)
		b->runs++;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block *b = find(qemu_plugin_tb_vaddr(tb));

	(void)id;
	if (!b)
		return;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_exec, 0, b);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &b->instructions,
						 qemu_plugin_tb_n_insns(tb));
}

static void note_before(void)
{
	struct block *b;
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < BUCKETS; i++)
		for (b = buckets[i]; b; b = b->next)
			b->instructions_before = b->instructions;
	pthread_mutex_unlock(&lock);
}

static void write_samples(void)
{
	FILE *out = fopen(out_path, "w");
	struct block *b;
	int i;

	if (!out)
		return;
	pthread_mutex_lock(&lock);
	for (i = 0; i < BUCKETS; i++)
		for (b = buckets[i]; b; b = b->next)
			if (b->runs || b->samples)
				fprintf(out, "%llx %llu %llu %llu\n",
					(unsigned long long)b->addr,
					(unsigned long long)b->samples,
					(unsigned long long)b->runs,
					(unsigned long long)(b->instructions -
							     b->instructions_before));
	pthread_mutex_unlock(&lock);
	fclose(out);
}

static void *sampler(void *arg)
{
	struct timespec period = { 0, PERIOD_NS };
	unsigned int turn, cpu;
	struct block *b;
	int was_on;

	(void)arg;
	for (turn = 0; ; turn++) {
		nanosleep(&period, NULL);
		if (turn % LOOK_EVERY == 0) {
			was_on = is_on;
			is_on = !access(switch_path, F_OK);
			if (!was_on && is_on)
				note_before();
			if (was_on && !is_on)
				write_samples();
		}
		for (cpu = 0; is_on && cpu < CPUS_MAX; cpu++) {
			b = __atomic_load_n(&current[cpu], __ATOMIC_RELAXED);
			if (b)
				b->samples++;
		}
	}
	return NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			int argc, char **argv)
{
	pthread_t thread;
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out_path = strdup(argv[i] + 4);
		else if (!strncmp(argv[i], "switch=", 7))
			switch_path = strdup(argv[i] + 7);
	}
	if (!out_path || !switch_path) {
		fprintf(stderr, "profile: wants out=FILE,switch=PATH\n");
		return -1;
	}
	if (pthread_create(&thread, NULL, sampler, NULL))
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
