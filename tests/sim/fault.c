// SPDX-License-Identifier: MIT
/* Faults that happen at a time: drawn at the start, undone at the end. */
#include "sim.h"

struct sim_peer *sim_any_peer(struct sim *s)
{
	const struct sim_conn *c = &s->conns[sim_below(&s->rng, s->cfg.conns)];
	bool is_client = sim_chance(&s->rng, SIM_PPM / 2);

	return is_client ? sim_peer(s, c->from->nr, c->to->nr) :
			   sim_peer(s, c->to->nr, c->from->nr);
}

struct sim_host *sim_any_host(struct sim *s)
{
	return sim_any_peer(s)->host;
}

static void on_partition(struct sim *s, void *obj, u64 arg)
{
	struct sim_peer *p = sim_any_peer(s);
	u64 until = s->now + sim_spread(&s->rng, KR_MSEC, s->cfg.outage_ns);
	u64 way = sim_below(&s->rng, 3);

	sim_note(s, "partition of %u and %u for %.6f ms", p->host->nr, p->to,
		 (until - s->now) / 1e6);
	if (way != 1)
		p->link.blocked_ns = until;
	if (way != 2)
		sim_peer(s, p->to, p->host->nr)->link.blocked_ns = until;
	if (p->assoc)
		sim_lanes_broken(p->assoc);
}

/* The programs of the host die with it; nobody else is told. */
static void on_reboot(struct sim *s, void *obj, u64 arg)
{
	struct sim_host *h = sim_any_host(s);

	sim_note(s, "host %u reboots", h->nr);
	sim_host_halt(h, ENETDOWN);
	sim_host_boot(h, sim_chance(&s->rng, 500000));
}

/* One side forgets an association without a reboot. */
static void on_drop(struct sim *s, void *obj, u64 arg)
{
	sim_peer_gone(sim_any_peer(s), ECONNRESET);
}

static void on_path_return(struct sim *s, void *obj, u64 arg)
{
	sim_peer_check(obj);
}

static void on_device_return(struct sim *s, void *obj, u64 arg)
{
	struct sim_host *h = obj;
	struct sim_peer *p;

	sim_for_each_peer(p, h)
		on_path_return(s, p, 0);
}

/* The device goes and comes back with another queue pair. */
static void on_path_lost(struct sim *s, void *obj, u64 arg)
{
	struct sim_host *h = sim_any_host(s);
	u64 ns = sim_spread(&s->rng, KR_MSEC, 5 * KR_SEC);
	struct sim_peer *p;

	sim_note(s, "host %u loses its device", h->nr);
	sim_host_lose_device(h, ns, sim_below(&s->rng, min(ns, 20 * KR_MSEC)));
	sim_host_at(h, h->away_ns, on_device_return, h, 0);
	sim_for_each_peer(p, h) {
		if (!p->assoc || p->assoc->a.is_loop)
			continue;
		sim_met_assoc(&p->assoc->a, SIM_MET_LOST);
		sim_lanes_broken(p->assoc);
		kr_assoc_path_lost(&p->assoc->a, sim_clock(h));
		sim_peer_run(p);
	}
}

static void on_slot_stop(struct sim *s, void *obj, u64 arg)
{
	struct sim_host *h = sim_any_host(s);

	h->stop_ns = s->now + sim_spread(&s->rng, 100 * KR_USEC, 500 * KR_MSEC);
	sim_host_at(h, h->stop_ns, sim_host_tx_ready, h, 0);
}

static void on_unlisten(struct sim *s, void *obj, u64 arg)
{
	struct sim_host *h = sim_any_host(s);

	sim_note(s, "host %u stops to listen for a moment", h->nr);
	sim_user_unlisten(h);
}

void sim_fault_plan(struct sim *s, u64 nr, sim_fn fn)
{
	u64 when;

	while (nr--) {
		when = s->now + sim_below(&s->rng, s->cfg.work_ns);
		if (sim_fault_counts(s))
			sim_at(s, when, fn, NULL, 0);
	}
}

bool sim_fault_counts(struct sim *s)
{
	u64 nr = sim_report->faults++;

	return nr < s->cfg.faults && (nr >= 64 || !(s->cfg.skip >> nr & 1));
}

bool sim_fault_hits(struct sim *s, u32 ppm)
{
	if (!s->is_faulty || !sim_chance(&s->rng, ppm) || !sim_fault_counts(s))
		return false;
	sim_note(s, "the next packet has bad luck (fault %lu)",
		 (unsigned long)sim_report->faults - 1);
	return true;
}

void sim_fault_start(struct sim *s)
{
	s->is_faulty = true;
	sim_fault_plan(s, s->cfg.partitions, on_partition);
	sim_fault_plan(s, s->cfg.reboots, on_reboot);
	sim_fault_plan(s, s->cfg.drops, on_drop);
	sim_fault_plan(s, s->cfg.path_losses, on_path_lost);
	sim_fault_plan(s, s->cfg.slot_stops, on_slot_stop);
	sim_clock_start(s);
	sim_stale_start(s);
	sim_forge_start(s);
	sim_fault_plan(s, s->cfg.unlistens, on_unlisten);
	sim_lanes_start(s);
	sim_prng_init(&sim_env.rng, s->seed ^ 0x6d656d);
	sim_env.fail = s->cfg.nomem;
}

void sim_fault_stop(struct sim *s)
{
	struct sim_peer *p;
	u32 i;

	s->is_faulty = false;
	sim_env.fail = 0;
	for (i = 0; i < s->cfg.hosts; i++) {
		s->hosts[i].away_ns = 0;
		sim_for_each_peer(p, &s->hosts[i])
			p->link.blocked_ns = 0;
	}
	for (i = 0; i < s->cfg.hosts; i++)
		on_device_return(s, &s->hosts[i], 0);
}
