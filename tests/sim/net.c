// SPDX-License-Identifier: MIT
/*
 * One link from each host to each other: a bottleneck with a bounded queue,
 * then delay and jitter; packets are lost alone or in bursts, repeated, held
 * back, or (where a run asks for it) changed.
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
	sim_trace(s, arg ? ">>" : "->", p->peer->host->nr, h->nr, p->bytes, p->len);
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

static void schedule(struct sim *s, u64 when, struct sim_peer *peer, u32 qpn,
		     const u8 *bytes, u32 len, bool is_copy)
{
	struct sim_packet *p = sim_pool_get(sizeof(*p) + len);

	p->len = len;
	p->qpn = qpn;
	p->peer = peer;
	memcpy(p->bytes, bytes, len);
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
