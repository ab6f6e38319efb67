// SPDX-License-Identifier: MIT
/*
 * What must hold in every run, from what programs wrote and read alone: bytes
 * are a function of stream and position, an end that closed cleanly was heard
 * in full, memory stays inside the windows, idle means idle, everything ends.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "sim.h"

void sim_fail(const struct sim *s, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(sim_report->said, sizeof(sim_report->said), format, ap);
	va_end(ap);
	sim_note(s, "%s", sim_report->said);
	fflush(stdout);
	fprintf(stderr, "seed %lu failed at %.6f s: %s\n", (unsigned long)s->seed,
		(s->now - SIM_START_NS) / 1e9, sim_report->said);
	abort();
}

struct sim_ep *sim_ep_other(const struct sim_ep *ep)
{
	return ep->is_server ? ep->conn->client : ep->conn->server;
}

static void check_pages(const struct sim *s, const struct kr_buf *b, u32 limit)
{
	if (kr_buf_nr_pages(b) > limit / KR_PAGE_SIZE + 3)
		sim_fail(s, "%u pages for a window of %u bytes", kr_buf_nr_pages(b), limit);
}

void sim_check_bounds(const struct sim *s, const struct sim_ep *ep)
{
	const struct kr_vqp *v = &ep->sv->v;
	const struct kr_rx *rx = &v->rx;
	u64 high = rx->ooo.nr ? rx->ooo.at[rx->ooo.nr - 1].hi : rx->accepted;
	u64 limit = s->cfg.resize ? s->cfg.rx_limit : rx->limit;

	if (high - rx->read > limit)
		sim_fail(s, "connection %u: %lu bytes kept, limit %lu",
			 ep->conn->nr, (unsigned long)(high - rx->read),
			 (unsigned long)limit);
	if (v->tx.end - v->tx.head > v->tx.limit)
		sim_fail(s, "connection %u: send buffer over its limit",
			 ep->conn->nr);
	check_pages(s, &rx->buf, limit);
	check_pages(s, &v->tx.buf, v->tx.limit);
}

void sim_check_bytes(const struct sim *s, struct sim_ep *ep, const u8 *p, u32 len)
{
	const struct sim_ep *other = sim_ep_other(ep);
	u8 wanted[SIM_PACKET_MAX];
	u64 pos = ep->read;

	if (s->cfg.flips)
		return;
	if (!other)
		sim_fail(s, "connection %u: bytes of nobody", ep->conn->nr);
	if (pos + len > other->written)
		sim_fail(s, "connection %u: read up to %lu, written up to %lu",
			 ep->conn->nr, (unsigned long)(pos + len),
			 (unsigned long)other->written);
	sim_stream_fill(other->key, pos, wanted, len);
	if (memcmp(wanted, p, len))
		sim_fail(s, "connection %u: wrong bytes in %lu-%lu", ep->conn->nr,
			 (unsigned long)pos, (unsigned long)(pos + len));
}

void sim_check_id(struct sim *s, const struct sim_ep *ep)
{
	u64 key = sim_mix(ep->sv->v.id ^ ep->sv->v.assoc->local_id) | 1;

	if (!ep->sv->v.id || sim_map_get(&s->ids, key))
		sim_fail(s, "connection %u: id %lx of its VQP was used before",
			 ep->conn->nr, (unsigned long)ep->sv->v.id);
	sim_map_add(&s->ids, key, s);
}

void sim_check_eof(const struct sim *s, const struct sim_ep *ep)
{
	const struct sim_ep *other = sim_ep_other(ep);

	if (s->cfg.flips)
		return;
	if (!other || !other->is_shut || ep->read != other->written)
		sim_fail(s, "connection %u: end of stream at %lu, written %lu",
			 ep->conn->nr, (unsigned long)ep->read,
			 other ? (unsigned long)other->written : 0);
}

void sim_check_opened(const struct sim *s, struct sim_ep *ep)
{
	struct sim_conn *c = ep->conn;

	if (ep->is_open)
		sim_fail(s, "connection %u: opened twice", c->nr);
	if (!ep->is_server)
		return;
	if (!s->cfg.flips && c->server)
		sim_fail(s, "connection %u: accepted twice", c->nr);
	if (!s->cfg.flips && (!c->client || !c->client->is_open))
		sim_fail(s, "connection %u: accepted, but not confirmed by its client",
			 c->nr);
	c->server = ep;
}

void sim_check_released(const struct sim *s, const struct sim_ep *ep)
{
	const struct sim_ep *other = sim_ep_other(ep);
	u64 accepted;

	if (ep->end_state != KR_VQP_CLOSED || s->cfg.flips)
		return;
	if (ep->has_unread)
		sim_fail(s, "connection %u: CLOSED, not reset, with bytes that nobody read",
			 ep->conn->nr);
	if (!other || !other->is_shut || !ep->is_shut)
		sim_fail(s, "connection %u: CLOSED without both FINs", ep->conn->nr);
	accepted = other->is_released ? other->accepted :
		   other->sv->v.rx.accepted - other->rx_start;
	if (accepted != ep->written)
		sim_fail(s, "connection %u: CLOSED with %lu of %lu bytes accepted",
			 ep->conn->nr, (unsigned long)accepted,
			 (unsigned long)ep->written);
	if (ep->accepted != other->written)
		sim_fail(s, "connection %u: CLOSED after %lu of %lu bytes",
			 ep->conn->nr, (unsigned long)ep->accepted,
			 (unsigned long)other->written);
}

/* Nothing but programs and time keeps packets from the peer for long. */
static bool is_steady(const struct sim_cfg *c)
{
	return !c->partitions && !c->reboots && !c->drops && !c->path_losses &&
	       !c->flips && c->corrupt <= 100000 && c->strange <= 100000 &&
	       c->loss <= 100000 && c->burst <= 1000 && c->holes <= 1000 &&
	       !c->slot_stops && !c->host_timeout_ns;
}

/* Nothing in this run but time is a reason for a connection to end with an error. */
static bool is_gentle(const struct sim_cfg *c)
{
	return is_steady(c) && !c->abort && !c->close_early && !c->leave &&
	       !c->keepalive && !c->rash && !c->options && !c->unlistens &&
	       c->user_timeout_ns >= 60 * KR_SEC;
}

/* One end lost so much time that a timeout of its own ended the connection. */
static bool is_timed_out(const struct sim *s, const struct sim_conn *c)
{
	const struct sim_ep *ep;

	if (sim_clock_is_harmless(&s->cfg))
		return false;
	for (ep = c->attempts; ep; ep = ep->other_attempt)
		if (ep->err == ETIMEDOUT)
			return true;
	return c->client && c->client->err == ETIMEDOUT;
}

static void check_conn(const struct sim *s, const struct sim_conn *c)
{
	if (c->client && c->client->is_refused && c->server && !s->cfg.flips)
		sim_fail(s, "connection %u: refused and accepted", c->nr);
	if (c->client && c->client->is_open && !c->server && !c->is_unheard &&
	    is_steady(&s->cfg) && !is_timed_out(s, c))
		sim_fail(s, "connection %u: its client was connected, and accept() never told",
			 c->nr);
	if (!is_gentle(&s->cfg) || is_timed_out(s, c))
		return;
	if (c->client && c->client->is_open && c->client->err)
		sim_fail(s, "connection %u: the client got error %d for no reason",
			 c->nr, c->client->err);
	if (c->server && c->server->err)
		sim_fail(s, "connection %u: the server got error %d for no reason",
			 c->nr, c->server->err);
}

/* What went by lanes was answered, or went another way. */
static void check_lanes(const struct sim *s, const struct sim_peer *p)
{
	const struct kr_assoc *a = &p->assoc->a;
	const struct kr_lane *l;

	list_for_each_entry(l, &a->lanes, node)
		if (kr_lane_waits_since(l) || l->ack_ns)
			sim_fail(s, "host %u: a lane to %u waits for an answer", p->host->nr,
				 p->to);
	if (!list_empty(&a->bulk) || !list_empty(&a->data))
		sim_fail(s, "host %u: VQPs to %u wait for their turn", p->host->nr, p->to);
}

static void check_host(const struct sim *s, const struct sim_host *h)
{
	const struct kr_assoc *a;
	const struct sim_peer *p;

	if (h->backlog)
		sim_fail(s, "host %u: %u left in the backlog", h->nr, h->backlog);
	sim_for_each_peer(p, h) {
		if (!p->assoc)
			continue;
		a = &p->assoc->a;
		if (a->nr_vqps || a->nr_tombs || a->ch.inflight)
			sim_fail(s, "host %u: %u VQPs, %u tombstones, %u packets in flight to %u are left",
				 h->nr, a->nr_vqps, a->nr_tombs, a->ch.inflight, p->to);
		check_lanes(s, p);
	}
}

void sim_check_end(const struct sim *s)
{
	u32 i;

	for (i = 0; i < s->nr_conns; i++)
		check_conn(s, &s->conns[i]);
	for (i = 0; i < s->cfg.hosts; i++)
		check_host(s, &s->hosts[i]);
	if (sim_env.nr_pages)
		sim_fail(s, "%lu pages are left", (unsigned long)sim_env.nr_pages);
}

static bool is_alive(const struct sim_ep *ep)
{
	return ep && ep->is_open && !ep->is_released;
}

/* Whom the user has left does not wait for a peer that stays. */
static void check_orphans(const struct sim *s)
{
	const struct sim_ep *ep;
	u32 i;

	for (i = 0; i < s->nr_conns; i++) {
		ep = s->conns[i].client;
		if (ep && ep->is_closed && !ep->is_released)
			sim_fail(s, "connection %u: its client waits for ever", i);
		for (ep = s->conns[i].attempts; ep; ep = ep->other_attempt)
			if (ep->is_closed && !ep->is_released)
				sim_fail(s, "connection %u: its server waits for ever", i);
	}
}

/* A host that is gone, or has forgotten us, is noticed although nobody says anything. */
static void check_halves(const struct sim *s)
{
	const struct sim_conn *c;
	u32 i;

	for (i = 0; i < s->nr_conns; i++) {
		c = &s->conns[i];
		if (!c->leaver && is_alive(c->client) != is_alive(c->server))
			sim_fail(s, "connection %u: only its %s is left", c->nr,
				 is_alive(c->client) ? "client" : "server");
	}
}

/* Pairs of hosts of which one at least has an association with the other. */
static u64 nr_pairs(struct sim *s)
{
	const struct sim_peer *p;
	u64 nr = 0;
	u32 i;

	for (i = 0; i < s->cfg.hosts; i++)
		sim_for_each_peer(p, &s->hosts[i])
			nr += p->assoc && (i < p->to || !sim_peer(s, p->to, i)->assoc);
	return nr;
}

/* Lanes bridge the time without a path, which comes back when it can. */
static void check_paths(struct sim *s)
{
	const struct sim_peer *p;
	u32 i;

	for (i = 0; i < s->cfg.hosts; i++)
		sim_for_each_peer(p, &s->hosts[i])
			if (p->assoc && !p->assoc->a.is_loop && p->assoc->a.nr_vqps &&
			    (p->assoc->a.path != KR_PATH_READY ||
			     kr_channel_is_silent(&p->assoc->a.ch)))
				sim_fail(s, "host %u has no path to %u, with connections",
					 i, p->to);
}

void sim_check_idle(struct sim *s, u64 window_ns)
{
	u64 allowed = nr_pairs(s) * (window_ns / KR_KEEPALIVE_NS + 2) * 4;
	u64 before = s->nr_packets;
	const struct sim_ep *ep;
	u32 i;

	for (i = 0; i < s->nr_conns; i++)
		if (s->conns[i].client)
			s->conns[i].client->nr_timers = 0;
	window_ns += s->now;
	while (sim_step(s, window_ns))
		;
	check_halves(s);
	check_paths(s);
	check_orphans(s);
	if (s->nr_packets - before > allowed)
		sim_fail(s, "%lu packets while idle, %lu are enough",
			 (unsigned long)(s->nr_packets - before),
			 (unsigned long)allowed);
	for (i = 0; i < s->nr_conns; i++) {
		ep = s->conns[i].client;
		if (!ep || !ep->sv || ep->is_released)
			continue;
		if (ep->nr_timers > 2)
			sim_fail(s, "connection %u: %u timers while idle", i,
				 ep->nr_timers);
		if (kr_tx_is_trimmable(&ep->sv->v.tx) ||
		    kr_rx_is_trimmable(&ep->sv->v.rx))
			sim_fail(s, "connection %u: buffers while idle", i);
	}
}

void sim_check_path_req(const struct sim *s, struct sim_assoc *as,
			const struct kr_path_msg *pm)
{
	/* Else packets of both would have our tag, with the same numbers and ids. */
	if (as->taken.assoc && as->taken.assoc != pm->assoc)
		sim_fail(s, "host %u: an association with host %u has another peer now",
			 as->peer->host->nr, as->peer->to);
	/*
	 * Of one incarnation of the peer a later queue pair has a larger number, unless
	 * the bytes that say so were changed on the way.
	 */
	if (!s->cfg.flips && as->taken.assoc == pm->assoc &&
	    !memcmp(as->taken.end.gid, pm->end.gid, sizeof(pm->end.gid)) &&
	    pm->end.qpn < as->taken.end.qpn)
		sim_fail(s, "host %u goes back to a queue pair that host %u has left",
			 as->peer->host->nr, as->peer->to);
	as->taken = *pm;
}

void sim_check_quiet(const struct sim *s, u64 packets)
{
	if (s->nr_packets != packets)
		sim_fail(s, "%lu packets although nobody has a connection",
			 (unsigned long)(s->nr_packets - packets));
}

static void describe(const struct sim *s, const char *side, const struct sim_ep *ep)
{
	const struct kr_vqp *v;

	if (!ep || ep->is_released)
		return;
	v = &ep->sv->v;
	printf("connection %u %s at host %u: %s, wrote %lu of %lu, read %lu%s%s%s%s; "
	       "tx %lu %lu %lu edge %lu inflight %u; rx %lu %lu edge %lu; "
	       "probe %lu timer %lu\n",
	       ep->conn->nr, side, ep->host->nr, kr_vqp_state_name(v->state),
	       (unsigned long)ep->written, (unsigned long)ep->total,
	       (unsigned long)ep->read, ep->is_shut ? " shut" : "",
	       ep->is_eof ? " eof" : "", ep->is_closed ? " closed" : "",
	       ep->is_queued ? " queued" : "", (unsigned long)v->tx.head,
	       (unsigned long)v->tx.next, (unsigned long)v->tx.end,
	       (unsigned long)v->tx.edge, v->tx.inflight,
	       (unsigned long)v->rx.read, (unsigned long)v->rx.accepted,
	       (unsigned long)v->rx.edge, (unsigned long)v->probe_ns,
	       (unsigned long)v->timer_ns);
}

void sim_describe(const struct sim *s)
{
	const struct sim_ep *ep;
	u32 i;

	for (i = 0; i < s->nr_conns; i++) {
		describe(s, "client", s->conns[i].client);
		for (ep = s->conns[i].attempts; ep; ep = ep->other_attempt)
			describe(s, "server", ep);
	}
}
