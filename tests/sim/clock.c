// SPDX-License-Identifier: MIT
/*
 * Time as hosts know it.  The clock of each is ahead of the simulation's by an
 * offset that only grows; a host that stands still (a paused VM) does and meets
 * nothing until it goes on, and then all at once; timers fire late.
 */
#include "sim.h"

/* A server waits 5 s for a confirmation, an orphan 10 s for the peer. */
#define HARMLESS_NS (2 * KR_SEC)

u64 sim_clock(const struct sim_host *h)
{
	return h->sim->now + h->clock_ns;
}

void sim_timer(struct sim_host *h, u64 when, sim_fn fn, void *obj, u64 arg)
{
	struct sim *s = h->sim;

	/* What became due by a jump is due now. */
	when = max(when, sim_clock(h)) - h->clock_ns;
	if (s->is_faulty)
		when += sim_below(&s->rng, s->cfg.late_ns + 1);
	sim_host_at(h, when, fn, obj, arg);
}

static void on_pause(struct sim *s, void *obj, u64 arg)
{
	struct sim_host *h = sim_any_host(s);
	u64 until = s->now + sim_spread(&s->rng, KR_MSEC, s->cfg.pause_ns);

	/* It may stand still already. */
	h->paused_ns = max(h->paused_ns, until);
	sim_note(s, "host %u stands still for %.6f ms", h->nr,
		 (h->paused_ns - s->now) / 1e6);
}

/* Timers notice, or only fire when they would have without the jump. */
static void on_jump(struct sim *s, void *obj, u64 arg)
{
	struct sim_host *h = sim_any_host(s);
	u64 by = sim_spread(&s->rng, KR_MSEC, s->cfg.jump_ns);

	sim_note(s, "the clock of host %u jumps by %.6f ms", h->nr, by / 1e6);
	h->clock_ns += by;
	if (!sim_chance(&s->rng, 500000))
		return;
	sim_host_rearm(h);
	sim_user_rearm(h);
}

void sim_clock_start(struct sim *s)
{
	sim_wrap_clocks(s);
	sim_fault_plan(s, s->cfg.pauses, on_pause);
	sim_fault_plan(s, s->cfg.jumps, on_jump);
}

u64 sim_clock_resumed(const struct sim *s)
{
	u64 when = s->now;
	u32 i;

	for (i = 0; i < s->cfg.hosts; i++)
		when = max(when, s->hosts[i].paused_ns);
	return when;
}

bool sim_clock_is_harmless(const struct sim_cfg *c)
{
	return c->pauses * c->pause_ns + c->jumps * c->jump_ns <= HARMLESS_NS;
}
