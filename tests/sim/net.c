// SPDX-License-Identifier: MIT
/*
 * One link from each host to each other: a bottleneck with a bounded queue,
 * then delay and jitter; packets are lost alone, in bursts or one in two, repeated, held
 * back, changed so that the checksum shows it, or (where a run asks for it) does not.
 */
#include <stdlib.h>
#include "sim.h"

bool sim_net_is_blocked(struct sim *s, u32 from, u32 to)
{
	return sim_peer(s, from, to)->link.blocked_ns > s->now;
}

static void deliver(struct sim *s, void *obj, u64 arg)
{
	struct sim_packet *p = obj;
	struct sim_host *h = &s->hosts[p->peer->to];

	if (p->qpn != h->qpn || p->peer->link.blocked_ns > s->now) {
		s->nr_lost++;
		return;
	}
	if (s->is_faulty && sim_chance(&s->rng, s->cfg.corrupt)) {
		sim_trace(s, "-!", p->peer->host->nr, h->nr, p->bytes, p->len);
		s->nr_corrupt++;
		return;
	}
	sim_trace(s, arg ? ">>" : "->", p->peer->host->nr, h->nr, p->bytes, p->len);
	sim_stale_keep(s, p);
	sim_host_receive(h, p->bytes, p->len);
}

static bool is_lost(struct sim *s, struct sim_link *l)
{
	const struct sim_cfg *c = &s->cfg;

	if (!s->is_faulty)
		return false;
	if (l->burst_left) {
		l->burst_left--;
		return true;
	}
	if (sim_chance(&s->rng, c->burst))
		l->burst_left = sim_between(&s->rng, 1, 40);
	if (sim_chance(&s->rng, c->holes))
		l->holes_left = sim_between(&s->rng, 20, 300);
	if (l->holes_left) {
		l->holes_left--;
		return sim_chance(&s->rng, SIM_PPM / 2);
	}
	return sim_chance(&s->rng, c->loss);
}

/* When the bottleneck has passed the packet on; 0: its queue was full. */
static u64 queue(struct sim *s, struct sim_link *l, u32 len)
{
	u64 start = max(l->free_ns, s->now);
	u64 took = (len + 60) * KR_SEC / s->cfg.rate;

	if (start - s->now > s->cfg.queue * KR_SEC / s->cfg.rate)
		return 0;
	l->free_ns = start + took;
	return l->free_ns;
}

static void flip(struct sim *s, struct sim_packet *p)
{
	u32 nr = sim_between(&s->rng, 1, 4);

	while (nr--)
		p->bytes[sim_below(&s->rng, p->len)] ^=
			1u << sim_below(&s->rng, 8);
}

/* A packet that took no link to its receiver. */
struct injected {
	u32 from;			/* sim_cfg.hosts: a stranger */
	u32 to;
	u32 len;
	u8 bytes[];
};

static void on_injected(struct sim *s, void *obj, u64 is_checked)
{
	struct injected *p = obj;
	struct sim_host *h = &s->hosts[p->to];
	u64 before = is_checked ? sim_user_digest(h, p->from) : 0;

	sim_trace(s, "~>", p->from, p->to, p->bytes, p->len);
	sim_host_receive(h, p->bytes, p->len);
	if (is_checked && sim_user_digest(h, p->from) != before)
		sim_fail(s, "a packet that host %u forged changed a VQP of host %u",
			 p->from, p->to);
}

void sim_net_inject(struct sim *s, u32 from, u32 to, const u8 *bytes, u32 len,
		    bool is_checked)
{
	struct injected *p = sim_pool_get(sizeof(*p) + len);

	p->from = from;
	p->to = to;
	p->len = len;
	memcpy(p->bytes, bytes, len);
	sim_host_at_owned(&s->hosts[to], s->now, on_injected, p, is_checked);
}

static void schedule(struct sim *s, u64 when, struct sim_peer *peer, u32 qpn,
		     const u8 *bytes, u32 len, bool is_copy)
{
	struct sim_packet *p = sim_pool_get(sizeof(*p) + len + SIM_STRANGE_MAX);

	p->len = len;
	p->qpn = qpn;
	p->peer = peer;
	memcpy(p->bytes, bytes, len);
	if (s->is_faulty && sim_chance(&s->rng, s->cfg.strange))
		p->len = sim_forge_strange(s, p->bytes, p->len);
	if (s->is_faulty && sim_chance(&s->rng, s->cfg.flips))
		flip(s, p);
	sim_host_at_owned(&s->hosts[peer->to], when, deliver, p, is_copy);
}

void sim_net_send(struct sim *s, u32 from, u32 to, u32 qpn, const u8 *p, u32 len)
{
	struct sim_peer *peer = sim_peer(s, from, to);
	struct sim_link *l = &peer->link;
	const struct sim_cfg *c = &s->cfg;
	u64 when = queue(s, l, len);

	s->nr_packets++;
	s->nr_bytes += len;
	if (!when || is_lost(s, l) || l->blocked_ns > s->now) {
		s->nr_lost++;
		sim_trace(s, "-x", from, to, p, len);
		return;
	}
	when += c->delay_ns + sim_below(&s->rng, c->jitter_ns + 1);
	if (s->is_faulty && sim_chance(&s->rng, c->reorder))
		when += sim_below(&s->rng, 8 * c->delay_ns + KR_MSEC);
	schedule(s, when, peer, qpn, p, len, false);
	if (s->is_faulty && sim_chance(&s->rng, c->dup))
		schedule(s, when + sim_below(&s->rng, 4 * c->delay_ns + 1), peer,
			 qpn, p, len, true);
}
