// SPDX-License-Identifier: MIT
/*
 * The run of one seed: programs work while the network and the hosts fail; faults
 * stop and everybody finishes; what stays open must be idle; hosts connect once
 * more; then all ends and nothing may be left.
 */
#include "sim.h"

enum { EVENTS_MAX = 50000000 };		/* of one seed: it does not end */

#define FINISH_NS (400 * KR_SEC)
#define SETTLE_NS (40 * KR_SEC)	/* a keepalive, then timeouts, then a hello */
#define IDLE_NS (60 * KR_SEC)

static void boot(struct sim *s, const struct sim_options *o, u64 seed,
		 const struct sim_cfg *cfg)
{
	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->now = SIM_START_NS;
	s->ops = &sim_ops;
	s->is_traced = o->is_traced;
	s->counts_lines = o->counts_lines;
	s->has_digest = o->has_digest;
	s->cfg = *cfg;
	sim_prng_init(&s->rng, seed);
	memset(&sim_env, 0, sizeof(sim_env));
	memset(sim_report, 0, sizeof(*sim_report));
	sim_hosts_start(s);
}

static void run_until(struct sim *s, u64 when)
{
	while (sim_step(s, when))
		if (s->nr_events > EVENTS_MAX)
			sim_fail(s, "too many events");
}

/*
 * Runs until programs are done, for as long as bytes reach them: a corked stream in
 * small pieces is slow by nature.  A run with flips may leave them waiting.
 */
static void finish(struct sim *s, bool is_all)
{
	u64 patience = FINISH_NS + 3 * s->cfg.user_timeout_ns;
	u64 until = s->now + patience, read = s->nr_read;

	sim_user_drain(s, is_all);
	while (!sim_user_is_done(s, is_all) && s->now < until) {
		run_until(s, s->now + 100 * KR_MSEC);
		if (s->nr_read != read)
			until = s->now + patience;
		read = s->nr_read;
	}
	if (sim_user_is_done(s, is_all) || s->cfg.flips)
		return;
	sim_describe(s);
	sim_fail(s, "connections that do not end");
}

static void end_assocs(struct sim *s)
{
	u32 i;

	for (i = 0; i < s->cfg.hosts; i++)
		sim_host_halt(&s->hosts[i], ECONNRESET);
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

void sim_run(struct sim *s, const struct sim_options *o, u64 seed,
	     const struct sim_cfg *cfg)
{
	u64 packets;

	boot(s, o, seed, cfg);
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
		if (s->cfg.last)
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
