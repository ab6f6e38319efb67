// SPDX-License-Identifier: MIT
/*
 * Lanes between the associations of two hosts: what comes by one comes in order and once,
 * until the lane dies, in one of many ways.  An owner closes a lane that it is told of, or
 * that core has given up, and may ask for another.
 */
#include <stdlib.h>
#include "sim.h"

#define OPEN_NS (50 * KR_MSEC)		/* from asking until an end is open, at most */
#define TOLD_NS (50 * KR_MSEC)		/* until the other end knows, at most */
#define LATE_NS (5 * KR_SEC)		/* the same when nobody hurries */
#define STALL_MIN_NS (50 * KR_MSEC)
#define STALL_MAX_NS (3 * KR_SEC)

enum { SIZE_MIN = 2048 };

struct lane_packet {
	struct list_head node;		/* sim_lane_end.coming */
	u32 len;
	u8 bytes[];
};

/* The one packet that is being made. */
static u8 packet[KR_LANE_SIZE_MAX];

static struct sim_lane_end *end_of(struct kr_lane *l)
{
	return container_of(l, struct sim_lane_end, l);
}

static struct sim_lane_end *other(const struct sim_lane_end *e)
{
	return &e->lane->ends[e == &e->lane->ends[0]];
}

static void ask(struct sim_peer *p);

/* The end of a lane. */

static void drop_coming(struct sim_lane_end *e)
{
	struct lane_packet *p;

	while (!list_empty(&e->coming)) {
		p = list_first_entry(&e->coming, struct lane_packet, node);
		list_del_init(&p->node);
		sim_pool_put(p);
	}
}

static void close_end(struct sim_lane_end *e)
{
	bool was_open = e->state == SIM_LANE_OPEN;

	if (e->state == SIM_LANE_CLOSED)
		return;
	sim_note(e->peer->host->sim, "host %u: lane %u to %u is closed", e->peer->host->nr,
		 e->lane->nr, e->peer->to);
	e->state = SIM_LANE_CLOSED;
	drop_coming(e);
	if (was_open)
		kr_assoc_lane_close(&e->as->a, &e->l, sim_clock(e->peer->host));
}

static void on_told(struct sim *s, void *obj, u64 arg);

static void tell(struct sim_lane_end *e, u64 when)
{
	sim_host_at(e->peer->host, when, on_told, e, 0);
}

/* After what is still on its way. */
static void tell_other(struct sim_lane_end *e)
{
	struct sim *s = e->peer->host->sim;

	tell(other(e), max(e->arrive_ns, s->now) + sim_spread(&s->rng, KR_USEC, TOLD_NS));
}

static void on_ask_again(struct sim *s, void *obj, u64 arg)
{
	if (s->is_faulty)
		ask(obj);
}

/* The owner's worker: the device has told, or core wants it. */
static void on_told(struct sim *s, void *obj, u64 arg)
{
	struct sim_lane_end *e = obj;
	struct sim_peer *p = e->peer;

	if (e->state == SIM_LANE_CLOSED)
		return;
	close_end(e);
	sim_peer_run(p);
	/* In silence it does not come to know it, either, or it does. */
	if (!e->is_gone || sim_chance(&s->rng, SIM_PPM / 2))
		tell_other(e);
	if (s->is_faulty && s->cfg.lanes && sim_chance(&s->rng, SIM_PPM / 2))
		sim_host_at(p->host, s->now + sim_spread(&s->rng, KR_MSEC, 2 * KR_SEC),
			    on_ask_again, p, 0);
}

void sim_lane_failed(struct kr_assoc *a, struct kr_lane *l)
{
	struct sim_lane_end *e = end_of(l);
	struct sim *s = e->peer->host->sim;

	sim_note(s, "host %u: lane %u to %u has failed", e->peer->host->nr, e->lane->nr,
		 e->peer->to);
	/* All that comes is in order and as it was sent. */
	if (e->is_taking && !s->cfg.flips)
		sim_fail(s, "host %u takes a packet on lane %u for wrong", e->peer->host->nr,
			 e->lane->nr);
	tell(e, s->now + SIM_WORKER_NS);
}

void sim_lanes_end(struct sim_assoc *as)
{
	struct sim *s = as->peer->host->sim;
	struct sim_lane_end *e;

	while (!list_empty(&as->a.lanes)) {
		e = end_of(list_first_entry(&as->a.lanes, struct kr_lane, node));
		close_end(e);
		if (sim_chance(&s->rng, 700000))
			tell_other(e);
	}
}

/* How it dies. */

enum death {
	BOTH_TOLD,
	ONE_TOLD,			/* the other much later */
	IN_FLIGHT_LOST,			/* and then both are told */
	SILENT_ONE_WAY,			/* nobody is told */
	SILENT,
	STALLED,			/* and goes on later */
	NR_DEATHS
};

static const char *const deaths[NR_DEATHS] = {
	"ends", "ends at one side", "loses what is under way and ends", "is silent one way",
	"is silent", "stalls",
};

static void tell_both(struct sim_lane *lane, u64 after_ns)
{
	u64 now = lane->ends[0].peer->host->sim->now;

	tell(&lane->ends[0], now + after_ns);
	tell(&lane->ends[1], now + after_ns);
}

void sim_lane_silence(struct sim_lane *lane, u32 from)
{
	lane->ends[from].is_gone = true;
}

void sim_lane_stall(struct sim_lane *lane, u32 from, u64 ns)
{
	lane->ends[from].stall_ns = lane->ends[from].peer->host->sim->now + ns;
}

void sim_lane_cut(struct sim_lane *lane)
{
	sim_lane_silence(lane, 0);
	sim_lane_silence(lane, 1);
	tell_both(lane, 0);
}

static void die(struct sim_lane_end *e, enum death how)
{
	struct sim *s = e->peer->host->sim;
	struct sim_lane *lane = e->lane;
	u32 from = e == &lane->ends[1];
	u64 ns;

	sim_note(s, "host %u: lane %u to %u %s", e->peer->host->nr, lane->nr, e->peer->to,
		 deaths[how]);
	switch (how) {
	case BOTH_TOLD:
		tell_both(lane, 0);
		break;
	case ONE_TOLD:
		other(e)->is_gone = true;
		tell(e, s->now);
		tell(other(e), s->now + sim_spread(&s->rng, 100 * KR_MSEC, LATE_NS));
		break;
	case IN_FLIGHT_LOST:
		sim_lane_silence(lane, 0);
		sim_lane_silence(lane, 1);
		tell_both(lane, sim_below(&s->rng, TOLD_NS));
		break;
	case SILENT_ONE_WAY:
		sim_lane_silence(lane, from);
		break;
	case SILENT:
		sim_lane_silence(lane, 0);
		sim_lane_silence(lane, 1);
		break;
	case STALLED:
		ns = sim_spread(&s->rng, STALL_MIN_NS, STALL_MAX_NS);
		sim_lane_stall(lane, from, ns);
		if (sim_chance(&s->rng, SIM_PPM / 2))
			sim_lane_stall(lane, !from, ns);
		break;
	case NR_DEATHS:
		break;
	}
}

void sim_lanes_broken(struct sim_assoc *as)
{
	struct sim *s = as->peer->host->sim;
	struct kr_lane *l;

	list_for_each_entry(l, &as->a.lanes, node)
		if (!l->is_last && sim_chance(&s->rng, SIM_PPM / 2))
			die(end_of(l), sim_below(&s->rng, NR_DEATHS));
}

/* Packets. */

static void take(struct sim_lane_end *e, const u8 *bytes, u32 len)
{
	struct sim_host *h = e->peer->host;
	struct kr_packet p = { .kind = KR_PACKET_TAGGED };

	sim_trace(h->sim, "=>", e->peer->to, h->nr, bytes, len);
	h->sim->nr_delivered++;
	if (!kr_wire_get_hdr(bytes, len, &p.hdr))
		sim_fail(h->sim, "a malformed packet on lane %u", e->lane->nr);
	p.body = bytes + KR_HDR_LEN;
	if (!e->as->a.is_ended)
		sim_met_packet(&e->as->a, &p);
	e->heard = p.hdr.ack;
	e->is_taking = true;
	kr_assoc_lane_input(&e->as->a, &e->l, bytes, len, sim_clock(h));
	e->is_taking = false;
	sim_peer_run(e->peer);
}

static void take_first(struct sim_lane_end *e)
{
	struct lane_packet *p = list_first_entry(&e->coming, struct lane_packet, node);
	struct sim *s = e->peer->host->sim;

	list_del_init(&p->node);
	if (other(e)->is_gone) {
		s->nr_lost++;
		sim_trace(s, "=x", e->peer->to, e->peer->host->nr, p->bytes, p->len);
	} else {
		take(e, p->bytes, p->len);
	}
	sim_pool_put(p);
}

/* Events of a host that stood still may come in another order than packets do. */
static void on_arrival(struct sim *s, void *obj, u64 arg)
{
	struct sim_lane_end *e = obj;

	if (e->state == SIM_LANE_PLANNED)
		e->nr_early++;
	else if (e->state == SIM_LANE_OPEN)
		take_first(e);
}

static void send(struct sim_lane_end *e, u32 len)
{
	struct lane_packet *p = sim_pool_get(sizeof(*p) + len);
	struct sim_lane_end *to = other(e);
	struct sim *s = e->peer->host->sim;
	const struct sim_cfg *c = &s->cfg;
	u64 when;

	INIT_LIST_HEAD(&p->node);
	p->len = len;
	memcpy(p->bytes, packet, len);
	e->free_ns = max(e->free_ns, s->now) + (len + SIM_FRAMING) * KR_SEC / c->rate;
	when = e->free_ns + c->delay_ns + e->peer->link.extra_ns +
	       sim_below(&s->rng, c->jitter_ns + 1);
	e->arrive_ns = max(max(when, e->stall_ns), e->arrive_ns);
	s->nr_packets++;
	s->nr_bytes += len;
	if (to->state == SIM_LANE_CLOSED) {
		s->nr_lost++;
		sim_trace(s, "=x", e->peer->host->nr, e->peer->to, p->bytes, len);
		sim_pool_put(p);
		return;
	}
	list_add_tail(&p->node, &to->coming);
	sim_host_at(to->peer->host, e->arrive_ns, on_arrival, to, 0);
}

/* No stream and no control of one: only what the lane itself has to say. */
static bool is_ping(const struct kr_hdr *h)
{
	const u8 *p = packet + KR_HDR_LEN, *end = p + h->body_len;
	struct kr_msg m;

	while (p != end && kr_wire_get_msg(&p, end, &m))
		if (m.type != KR_MSG_PING && m.type != KR_MSG_WINDOW)
			return false;
	return true;
}

/* What the peer relies on: its receive buffers, and that the last way is the last. */
static void check(struct sim_lane_end *e, u32 len)
{
	const struct kr_assoc *a = &e->as->a;
	struct sim *s = e->peer->host->sim;
	struct kr_hdr h;

	if (len > e->terms.size)
		sim_fail(s, "a packet of %u bytes on a lane of %u", len, e->terms.size);
	if (!kr_wire_get_hdr(packet, len, &h) || !h.lane || h.tag != a->remote_id)
		sim_fail(s, "no packet of a lane on lane %u", e->lane->nr);
	if (!h.pn)
		return;
	if (h.pn != ++e->pn)
		sim_fail(s, "number %lu on lane %u, after %lu", (unsigned long)h.pn,
			 e->lane->nr, (unsigned long)e->pn - 1);
	if (h.pn - e->heard > e->terms.credits)
		sim_fail(s, "%lu packets without an answer on lane %u, %u are agreed",
			 (unsigned long)(h.pn - e->heard), e->lane->nr, e->terms.credits);
	if (e->terms.is_last && !is_ping(&h) && a->path == KR_PATH_READY && !kr_channel_is_silent(&a->ch) &&
	    !a->is_peer_deaf)
		sim_fail(s, "host %u has a path, and sends by lane %u, which is the last way",
			 e->peer->host->nr, e->lane->nr);
}

static void on_slot_done(struct sim *s, void *obj, u64 arg)
{
	struct sim_lane_end *e = obj;

	e->nr_busy--;
	if (!e->is_starved)
		return;
	e->is_starved = false;
	if (e->state == SIM_LANE_OPEN)
		sim_peer_run(e->peer);
}

static void *lane_get(void *port, bool is_control, u8 **bytes)
{
	struct sim_lane_end *e = port;

	e->is_starved = e->nr_busy >= e->nr_slots;
	if (e->is_starved)
		return NULL;
	*bytes = packet;
	return packet;
}

/* A slot counts when something is posted. */
static void lane_put(void *port, void *slot)
{
}

static void lane_post(void *port, void *slot, u32 len)
{
	struct sim_lane_end *e = port;
	struct sim_host *h = e->peer->host;
	struct sim *s = h->sim;
	bool is_dying = sim_fault_hits(s, s->cfg.lane_deaths);
	enum death how = sim_below(&s->rng, NR_DEATHS);

	check(e, len);
	e->nr_busy++;
	sim_host_at(h, s->now + len / 8 + sim_below(&s->rng, KR_MSEC / 10), on_slot_done, e, 0);
	if (is_dying && sim_chance(&s->rng, SIM_PPM / 2)) {
		die(e, how);
		is_dying = false;
	}
	send(e, len);
	if (is_dying)
		die(e, how);
}

static const struct kr_port_ops lane_ops = {
	.get = lane_get,
	.put = lane_put,
	.post = lane_post,
};

/* How it begins. */

static void on_open(struct sim *s, void *obj, u64 arg)
{
	struct sim_lane_end *e = obj;
	struct sim_peer *p = e->peer;

	if (e->state != SIM_LANE_PLANNED)
		return;
	e->as = p->assoc;
	if (!e->as || e->as->nr != e->assoc_nr ||
	    kr_assoc_lane_open(&e->as->a, &e->l, &e->terms, sim_clock(p->host))) {
		close_end(e);
		tell_other(e);
		return;
	}
	sim_note(s, "host %u: lane %u to %u is open, packets of %u bytes, credit %u%s",
		 p->host->nr, e->lane->nr, p->to, e->terms.size, e->terms.credits,
		 e->terms.is_last ? ", the last way" : "");
	e->state = SIM_LANE_OPEN;
	while (e->state == SIM_LANE_OPEN && e->nr_early) {
		e->nr_early--;
		take_first(e);
	}
	sim_peer_run(p);
}

static void init_end(struct sim_lane_end *e, struct sim_lane *lane, struct sim_peer *p,
		     bool is_last)
{
	e->lane = lane;
	e->peer = p;
	e->assoc_nr = p->assoc->nr;
	e->nr_slots = KR_LANE_CREDITS_MAX;
	e->terms.size = KR_LANE_SIZE_MAX;
	e->terms.credits = KR_LANE_CREDITS_MAX;
	e->terms.is_last = is_last;
	e->terms.ops = &lane_ops;
	e->terms.port = e;
	INIT_LIST_HEAD(&e->coming);
}

/* NULL: they do not know each other. */
static struct sim_lane *create(struct sim_peer *p, bool is_last)
{
	struct sim *s = p->host->sim;
	struct sim_peer *q;
	struct sim_lane *lane;

	if (!p->assoc || p->assoc->a.is_loop)
		return NULL;
	q = sim_peer(s, p->to, p->host->nr);
	if (!q->assoc || p->assoc->a.remote_id != q->assoc->a.local_id ||
	    q->assoc->a.remote_id != p->assoc->a.local_id)
		return NULL;
	lane = calloc(1, sizeof(*lane));
	if (!lane)
		abort();
	lane->nr = ++s->nr_lanes;
	lane->next = s->lanes;
	s->lanes = lane;
	init_end(&lane->ends[0], lane, p, is_last);
	init_end(&lane->ends[1], lane, q, is_last);
	return lane;
}

struct sim_lane *sim_lane_open(struct sim_peer *p, bool is_last)
{
	struct sim *s = p->host->sim;
	struct sim_lane *lane = create(p, is_last);

	if (!lane)
		sim_fail(s, "no two ends for a lane");
	on_open(s, &lane->ends[0], 0);
	on_open(s, &lane->ends[1], 0);
	return lane;
}

static void draw(struct sim *s, struct sim_lane_end *e)
{
	e->terms.size = sim_spread(&s->rng, SIZE_MIN, KR_LANE_SIZE_MAX);
	e->terms.credits = sim_spread(&s->rng, 1, KR_LANE_CREDITS_MAX);
	e->nr_slots = sim_spread(&s->rng, 1, KR_LANE_CREDITS_MAX);
	sim_host_at(e->peer->host, s->now + sim_below(&s->rng, OPEN_NS), on_open, e, 0);
}

static void ask(struct sim_peer *p)
{
	struct sim *s = p->host->sim;
	struct sim_lane *lane = create(p, sim_chance(&s->rng, 300000));

	if (!lane)
		return;
	draw(s, &lane->ends[0]);
	draw(s, &lane->ends[1]);
}

static void on_ask(struct sim *s, void *obj, u64 arg)
{
	ask(sim_any_peer(s));
}

void sim_lanes_start(struct sim *s)
{
	sim_fault_plan(s, s->cfg.lanes, on_ask);
}

void sim_lanes_clean(struct sim *s)
{
	struct sim_lane *lane;

	while (s->lanes) {
		lane = s->lanes;
		s->lanes = lane->next;
		drop_coming(&lane->ends[0]);
		drop_coming(&lane->ends[1]);
		free(lane);
	}
}
