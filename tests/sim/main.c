// SPDX-License-Identifier: MIT
/*
 * krsim [--seed N] [--seeds N] [--trace] [--digest] [--flips] [NAME=VALUE...]
 * krsim --scenarios [--trace] [FAMILY...]
 *
 * Each seed draws a profile and runs it: programs work while the network and
 * the hosts fail; faults stop and everybody finishes; what stays open must be
 * idle; then all ends and nothing may be left.  A failure prints the command
 * that repeats it.  Scenarios measure how long things take: see flow.h.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "sim.h"

enum {
	BATCH = 100,
	EVENTS_MAX = 50000000,		/* of one seed: it does not end */
};

#define FINISH_NS (400 * KR_SEC)
#define SETTLE_NS (40 * KR_SEC)	/* a keepalive, then timeouts, then a hello */
#define IDLE_NS (60 * KR_SEC)

struct options {
	u64 seed;
	u64 nr_seeds;
	bool is_traced;
	bool has_digest;
	bool has_flips;
	bool has_scenarios;
	char **settings;
};

struct totals {
	u64 packets, bytes, opened, clean, events, lost;
};

static char command[1024];

/* Only what may be called in a signal handler. */
static void print_command(void)
{
	ssize_t n = write(STDERR_FILENO, command, strlen(command));

	(void)n;
}

static void on_abort(int sig)
{
	print_command();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The sanitizer calls this before it prints. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	print_command();
}

static void note_command(const struct options *o, u64 seed)
{
	int n = snprintf(command, sizeof(command),
			 "repeat with: build/tests/sim/krsim --seed %lu%s",
			 (unsigned long)seed, o->has_flips ? " --flips" : "");
	char **arg;

	for (arg = o->settings; *arg && n < (int)sizeof(command) - 2; arg++)
		n += snprintf(command + n, sizeof(command) - n, " %s", *arg);
	if (n < (int)sizeof(command) - 10)
		strcpy(command + n, " --trace\n");
}

static void set_values(struct sim *s, char **settings)
{
	char *eq;

	for (; *settings; settings++) {
		eq = strchr(*settings, '=');
		if (eq)
			*eq = 0;
		if (!eq || !sim_cfg_set(&s->cfg, *settings,
					strtoull(eq + 1, NULL, 0))) {
			fprintf(stderr, "krsim: %s?\n", *settings);
			exit(2);
		}
		*eq = '=';
	}
}

static void boot(struct sim *s, const struct options *o, u64 seed)
{
	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->now = KR_SEC;
	s->ops = &sim_ops;
	s->is_traced = o->is_traced;
	s->has_digest = o->has_digest;
	sim_prng_init(&s->rng, seed);
	memset(&sim_env, 0, sizeof(sim_env));
	sim_cfg_draw(&s->cfg, seed, o->has_flips);
	set_values(s, o->settings);
	if (s->cfg.hosts < 2 || s->cfg.hosts > SIM_HOSTS_MAX)
		s->cfg.hosts = 2;
	if (o->is_traced || o->nr_seeds == 1)
		sim_cfg_print(&s->cfg);
	sim_hosts_start(s);
}

static void run_until(struct sim *s, u64 when)
{
	while (sim_step(s, when))
		if (s->nr_events > EVENTS_MAX)
			sim_fail(s, "too many events");
}

/* Runs until programs are done; a run with flips may leave them waiting. */
static void finish(struct sim *s, bool is_all)
{
	u64 until = s->now + FINISH_NS + 3 * s->cfg.user_timeout_ns;

	sim_user_drain(s, is_all);
	while (!sim_user_is_done(s, is_all) && s->now < until)
		run_until(s, s->now + 100 * KR_MSEC);
	if (sim_user_is_done(s, is_all) || s->cfg.flips)
		return;
	sim_user_describe(s);
	sim_fail(s, "connections that do not end");
}

static void end_assocs(struct sim *s)
{
	struct sim_peer *p;
	u32 i;

	for (i = 0; i < s->cfg.hosts; i++)
		sim_for_each_peer(p, &s->hosts[i])
			sim_peer_gone(p, ECONNRESET);
}

/* After all that happened, hosts can connect to each other. */
static void run_last(struct sim *s)
{
	u32 round;

	for (round = 0; round < SIM_LAST_ROUNDS; round++) {
		sim_user_last(s, round);
		run_until(s, s->now + 30 * KR_SEC);
	}
	if (!sim_user_has_last(s))
		sim_fail(s, "hosts that cannot connect any more");
	finish(s, true);
	/* Last words for a host whose path did not come back end by then. */
	run_until(s, s->now + SETTLE_NS + KR_LAST_WORDS_NS);
}

static void run(struct sim *s)
{
	u64 packets;

	sim_user_start(s);
	sim_fault_start(s);
	run_until(s, s->now + s->cfg.work_ns);
	run_until(s, sim_clock_resumed(s));
	sim_note(s, "faults stop");
	sim_fault_stop(s);
	finish(s, false);
	run_until(s, s->now + SETTLE_NS);
	if (s->cfg.hold && !s->cfg.flips)
		sim_check_idle(s, IDLE_NS);
	sim_note(s, "holders finish");
	finish(s, true);
	run_until(s, s->now + SETTLE_NS);
	if (!s->cfg.flips) {
		run_last(s);
		sim_check_end(s);
		packets = s->nr_packets;
		run_until(s, s->now + IDLE_NS);
		sim_check_quiet(s, packets);
	}
	end_assocs(s);
	if (sim_env.nr_pages && !s->cfg.flips)
		sim_fail(s, "pages leak");
	sim_user_clean(s);
	sim_heap_clean(s);
	sim_stale_clean(s);
	sim_hosts_clean(s);
	if (sim_env.nr_blocks || sim_env.nr_pages)
		sim_fail(s, "%lu blocks and %lu pages leak",
			 (unsigned long)sim_env.nr_blocks,
			 (unsigned long)sim_env.nr_pages);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void add(struct totals *t, const struct sim *s)
{
	t->packets += s->nr_packets;
	t->bytes += s->nr_bytes;
	t->opened += s->nr_open;
	t->events += s->nr_events;
	t->lost += s->nr_lost;
}

static int run_all(const struct options *o)
{
	struct sim *s = malloc(sizeof(*s));
	struct totals t = { 0 };
	double start = seconds();
	u64 i;

	if (!s)
		return 1;
	for (i = 0; i < o->nr_seeds; i++) {
		note_command(o, o->seed + i);
		boot(s, o, o->seed + i);
		run(s);
		add(&t, s);
		if (o->has_digest)
			printf("digest of seed %lu: %016lx\n",
			       (unsigned long)s->seed, (unsigned long)s->digest);
		if ((i + 1) % BATCH && i + 1 != o->nr_seeds)
			continue;
		printf("seeds %lu-%lu: %lu connections, %lu packets (%lu lost), %.0f packets/s\n",
		       (unsigned long)o->seed, (unsigned long)(o->seed + i),
		       (unsigned long)t.opened, (unsigned long)t.packets,
		       (unsigned long)t.lost, t.packets / (seconds() - start));
		fflush(stdout);
	}
	free(s);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "trace", no_argument, NULL, 't' },
		{ "digest", no_argument, NULL, 'd' },
		{ "flips", no_argument, NULL, 'f' },
		{ "scenarios", no_argument, NULL, 'c' },
		{ 0 },
	};
	struct options o = { .seed = 1, .nr_seeds = 1 };
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 's')
			o.seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			o.nr_seeds = strtoull(optarg, NULL, 0);
		else if (c == 't')
			o.is_traced = true;
		else if (c == 'd')
			o.has_digest = true;
		else if (c == 'f')
			o.has_flips = true;
		else if (c == 'c')
			o.has_scenarios = true;
		else
			return 2;
	}
	o.settings = argv + optind;
	signal(SIGABRT, on_abort);
	return o.has_scenarios ? sim_scenarios(o.settings, o.is_traced) : run_all(&o);
}
