// SPDX-License-Identifier: MIT
/*
 * One link from each host to each other: a bottleneck with a bounded queue,
 * then delay and jitter; packets are lost alone, in bursts or one in two, repeated, held
 * back, changed so that the checksum shows it, or (where a run asks for it) does not.
 * What comes to a host may pass one more bottleneck, which all who send to it share.
 */
#include <stdlib.h>
#include "sim.h"

#define BURST_NS KR_SEC

static bool has_qp(const struct sim_host *h, u32 qpn)
{
	return qpn < SIM_QPN_MIN || qpn == h->qpn ||
	       (qpn == h->old_qpn && h->old_qp_ns > h->sim->now);
}

static void deliver(struct sim *s, void *obj, u64 arg)
{
	struct sim_packet *p = obj;
	struct sim_host *h = &s->hosts[p->peer->to];

	if (!has_qp(h, p->qpn) || p->peer->link.blocked_ns > s->now) {
		s->nr_lost++;
		return;
	}
	if (sim_fault_hits(s, s->cfg.corrupt)) {
		sim_trace(s, "-!", p->peer->host->nr, h->nr, p->bytes, p->len);
		s->nr_corrupt++;
		return;
	}
	s->nr_delivered++;
	sim_trace(s, arg ? ">>" : "->", p->peer->host->nr, h->nr, p->bytes, p->len);
	sim_stale_keep(s, p);
	if (p->qpn < SIM_QPN_MIN)
		sim_hello_receive(h, p->peer->host->nr, p->qpn, p->bytes, p->len);
	else
		sim_host_receive(h, p->bytes, p->len);
}

/* That many packets, but not minutes of an idle association's. */
static void start_burst(struct sim *s, struct sim_link *l, u32 packets)
{
	l->burst_left = packets;
	l->burst_ns = s->now + BURST_NS;
}

static bool is_lost(struct sim *s, struct sim_peer *peer)
{
	struct sim_link *l = &peer->link;
	const struct sim_cfg *c = &s->cfg;

	if (!s->is_faulty)
		return false;
	if (l->burst_left && s->now < l->burst_ns) {
		l->burst_left--;
		return true;
	}
	if (sim_fault_hits(s, c->burst))
		start_burst(s, l, sim_between(&s->rng, 1, 40));
	if (sim_fault_hits(s, c->holes)) {
		l->holes_left = sim_between(&s->rng, 20, 300);
		/* What comes back is lost, so that all holes are seen at once. */
		start_burst(s, &sim_peer(s, peer->to, peer->host->nr)->link,
			    sim_below(&s->rng, 100));
	}
	if (l->holes_left) {
		l->holes_left--;
		return sim_chance(&s->rng, SIM_PPM / 2);
	}
	return sim_fault_hits(s, c->loss);
}

/*
 * When the bottleneck, which is busy until *free_ns, has passed the packet on;
 * 0: its queue of @size bytes was full.
 */
static u64 queue(const struct sim *s, u64 *free_ns, u64 rate, u64 size, u32 len)
{
	u64 start = max(*free_ns, s->now);

	if (start - s->now > size * KR_SEC / rate)
		return 0;
	*free_ns = start + (len + SIM_FRAMING) * KR_SEC / rate;
	return *free_ns;
}

u64 sim_net_queued(const struct sim_host *h)
{
	const struct sim *s = h->sim;

	return h->in_free_ns > s->now ?
	       (h->in_free_ns - s->now) * s->cfg.in_rate / KR_SEC : 0;
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
	u32 fail = sim_env.fail;
	struct sim_peer *peer;
	u64 before = 0;

	if (is_checked) {
		/* What is owed for late timers or want of memory is not the forger's work. */
		sim_env.fail = 0;
		sim_for_each_peer(peer, h)
			sim_peer_run(peer);
		before = sim_user_digest(h, p->from);
	}
	sim_trace(s, "~>", p->from, p->to, p->bytes, p->len);
	sim_host_receive(h, p->bytes, p->len);
	if (is_checked && sim_user_digest(h, p->from) != before)
		sim_fail(s, "a packet that host %u forged changed a VQP of host %u",
			 p->from, p->to);
	sim_env.fail = fail;
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

static struct sim_packet *make(struct sim_peer *peer, u32 qpn, const u8 *bytes, u32 len)
{
	struct sim_packet *p = sim_pool_get(sizeof(*p) + len + SIM_STRANGE_MAX);

	p->len = len;
	p->qpn = qpn;
	p->peer = peer;
	memcpy(p->bytes, bytes, len);
	return p;
}

/* The packet has come to the bottleneck in front of its host. */
static void arrive(struct sim *s, void *obj, u64 arg)
{
	struct sim_packet *p = obj;
	struct sim_host *h = &s->hosts[p->peer->to];
	u64 when = queue(s, &h->in_free_ns, s->cfg.in_rate, s->cfg.in_queue, p->len);

	if (!when) {
		s->nr_lost++;
		h->in_lost++;
		sim_trace(s, "-x", p->peer->host->nr, h->nr, p->bytes, p->len);
		return;
	}
	h->in_peak = max(h->in_peak, sim_net_queued(h));
	sim_host_at_owned(h, when, deliver, make(p->peer, p->qpn, p->bytes, p->len), arg);
}

static void make_strange(struct sim *s, struct sim_packet *p)
{
	if (p->qpn < SIM_QPN_MIN)
		p->bytes[4]++;		/* the version of a hello */
	else
		p->len = sim_forge_strange(s, p->bytes, p->len);
}

static void schedule(struct sim *s, u64 when, struct sim_packet *p, bool is_copy)
{
	if (sim_fault_hits(s, s->cfg.strange))
		make_strange(s, p);
	if (sim_fault_hits(s, s->cfg.flips))
		flip(s, p);
	sim_host_at_owned(&s->hosts[p->peer->to], when, s->cfg.in_rate ? arrive : deliver,
			  p, is_copy);
}

void sim_net_send(struct sim *s, u32 from, u32 to, u32 qpn, const u8 *p, u32 len)
{
	struct sim_peer *peer = sim_peer(s, from, to);
	struct sim_link *l = &peer->link;
	const struct sim_cfg *c = &s->cfg;
	u64 when = queue(s, &l->free_ns, c->rate, c->queue, len);
	bool is_dropped = s->drops && s->drops(s, from, p, len);

	s->nr_packets++;
	s->nr_bytes += len;
	if (!when || is_dropped || is_lost(s, peer) || l->blocked_ns > s->now) {
		s->nr_lost++;
		sim_trace(s, "-x", from, to, p, len);
		return;
	}
	when += c->delay_ns + l->extra_ns + sim_below(&s->rng, c->jitter_ns + 1);
	if (sim_fault_hits(s, c->reorder))
		when += sim_below(&s->rng, 8 * c->delay_ns + KR_MSEC);
	schedule(s, when, make(peer, qpn, p, len), false);
	if (sim_fault_hits(s, c->dup))
		schedule(s, when + sim_below(&s->rng, 4 * c->delay_ns + 1),
			 make(peer, qpn, p, len), true);
}
