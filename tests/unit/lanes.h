/* SPDX-License-Identifier: MIT */
/*
 * Lanes between the two associations of pair.h: what one end sends comes out at the
 * other, all and in order, unless a test cuts, delays or starves it.  Each packet has
 * memory of exactly its length, and is checked when it leaves.
 */
#ifndef KRCORE_UNIT_LANES_H
#define KRCORE_UNIT_LANES_H

#include "core/drive.h"
#include "pair.h"

enum {
	LANES = KR_LANES_MAX + 1,
	LANE_QUEUE = 2 * KR_LANE_CREDITS_MAX,
	LANE_SLOTS = 4 * LANE_QUEUE,	/* never short of any */
	LANE_SIZE = 20 << 10,
	LANE_CREDITS = 8,
	LANE_PAYLOAD = LANE_SIZE - KR_HDR_LEN - KR_MSG_HDR_LEN - KR_DATA_LEN,
	LANE_BULK = 3 * LANE_PAYLOAD,	/* three full packets */
};

struct lane_packet {
	u8 *bytes;
	u32 len;
	bool is_bare;
	u64 at_ns;			/* when it arrives */
};

/* One side of a lane, and what it sends. */
struct lane_end {
	struct kr_lane lane;
	struct lane_packet queue[LANE_QUEUE];
	u32 first, nr_queued, nr_bare_queued;
	u32 nr_slots;
	bool is_cut;			/* what it sends does not arrive yet */
	u64 delay_ns;
	u8 flags;			/* of the last packet */
	u32 nr_numbered, nr_bare, nr_put;
	u32 nr_types[KR_MSG_TYPE_MAX + 1];
};

static struct lane_end lane_ends[LANES][2];
static u32 lane_size = LANE_SIZE, lane_credits = LANE_CREDITS;

static UNUSED struct kr_lane *lane_of(int nr, int side)
{
	return &lane_ends[nr][side].lane;
}

static void *lane_get(void *port, bool is_control, u8 **bytes)
{
	struct lane_end *e = port;

	if (!e->nr_slots)
		return NULL;
	e->nr_slots--;
	return *bytes = malloc(e->lane.size);
}

static void lane_put(void *port, void *slot)
{
	struct lane_end *e = port;

	e->nr_slots++;
	e->nr_put++;
	free(slot);
}

static void lane_count(struct lane_end *e, const u8 *body, const u8 *stop)
{
	struct kr_msg m;

	while (body != stop) {
		KR_ASSERT(kr_wire_get_msg(&body, stop, &m));
		e->nr_types[m.type]++;
	}
}

static void lane_post(void *port, void *slot, u32 len)
{
	struct lane_end *e = port;
	struct lane_packet *q = &e->queue[(e->first + e->nr_queued) % LANE_QUEUE];
	struct kr_hdr h;

	KR_ASSERT(len <= e->lane.size && kr_wire_get_hdr(slot, len, &h) && h.lane);
	KR_ASSERT(len - KR_HDR_LEN == h.body_len);
	lane_count(e, (u8 *)slot + KR_HDR_LEN, (u8 *)slot + len);
	e->flags = h.flags;
	e->nr_numbered += !!h.pn;
	e->nr_bare += !h.pn;
	q->is_bare = !h.pn;
	e->nr_bare_queued += q->is_bare;
	e->nr_queued++;
	/* The buffers that the receiver has: for what it takes, and an answer to each of its own. */
	KR_ASSERT(e->nr_bare_queued <= e->lane.credits);
	KR_ASSERT(e->nr_queued - e->nr_bare_queued <= e->lane.credits);
	q->bytes = malloc(len);
	q->len = len;
	q->at_ns = now + e->delay_ns;
	memcpy(q->bytes, slot, len);
	free(slot);
}

static const struct kr_port_ops lane_ops = {
	.get = lane_get,
	.put = lane_put,
	.post = lane_post,
};

/* One side opens its end; 0 or what kr_assoc_lane_open() says. */
static UNUSED int lane_open_end(int nr, int side, bool is_last)
{
	struct lane_end *e = &lane_ends[nr][side];
	struct kr_lane_terms t = {
		.size = lane_size,
		.credits = lane_credits,
		.is_last = is_last,
		.ops = &lane_ops,
		.port = e,
	};

	memset(e, 0, sizeof(*e));
	e->nr_slots = LANE_SLOTS;
	return kr_assoc_lane_open(&assocs[side], &e->lane, &t, now);
}

static UNUSED void lane_open(int nr, bool is_last)
{
	KR_ASSERT(!lane_open_end(nr, CLIENT, is_last));
	KR_ASSERT(!lane_open_end(nr, SERVER, is_last));
}

static UNUSED bool lane_is_arrived(const struct lane_end *e)
{
	return e->nr_queued && !e->is_cut && e->queue[e->first].at_ns <= now;
}

static struct lane_packet lane_pop(struct lane_end *e)
{
	struct lane_packet q = e->queue[e->first];

	e->first = (e->first + 1) % LANE_QUEUE;
	e->nr_queued--;
	e->nr_bare_queued -= q.is_bare;
	e->nr_slots++;
	return q;
}

/* The connection breaks: what is under way is gone, and both sides are told. */
static UNUSED void lane_break(int nr)
{
	int side;

	for (side = 0; side < 2; side++) {
		while (lane_ends[nr][side].nr_queued)
			free(lane_pop(&lane_ends[nr][side]).bytes);
		kr_assoc_lane_close(&assocs[side], lane_of(nr, side), now);
	}
}

static UNUSED void lane_cut(int nr, bool is_cut)
{
	lane_ends[nr][CLIENT].is_cut = is_cut;
	lane_ends[nr][SERVER].is_cut = is_cut;
}

/* What has arrived by now; true if anything did. */
static UNUSED bool lanes_arrive(int from)
{
	bool is_busy = false;
	struct lane_packet q;
	int i;

	for (i = 0; i < LANES; i++) {
		while (lane_is_arrived(&lane_ends[i][from])) {
			q = lane_pop(&lane_ends[i][from]);
			kr_assoc_lane_input(&assocs[!from], lane_of(i, !from), q.bytes,
					    q.len, now);
			free(q.bytes);
			is_busy = true;
		}
	}
	return is_busy;
}

static UNUSED bool ud_send_all(int from)
{
	u8 p[KR_PKT_MAX];
	bool is_busy = false;
	u32 len;

	while ((len = take(from, p))) {
		is_busy = true;
		now += 10 * KR_USEC;
		if (nr_drop[from])
			nr_drop[from]--;
		else
			give(!from, p, len);
	}
	return is_busy;
}

/* As settle(), by every carrier. */
static UNUSED void lanes_settle(void)
{
	bool is_busy = true;
	int from;

	while (is_busy) {
		is_busy = false;
		for (from = 0; from < 2; from++) {
			kr_assoc_run_lanes(&assocs[from], now);
			is_busy |= ud_send_all(from);
			is_busy |= lanes_arrive(from);
		}
	}
}

static UNUSED u64 lanes_next(u64 when)
{
	const struct lane_end *e;
	int i;

	for (i = 0; i < 2 * LANES; i++) {
		e = &lane_ends[i / 2][i % 2];
		if (e->nr_queued && !e->is_cut)
			when = min(when, e->queue[e->first].at_ns);
	}
	for (i = 0; i < 2; i++)
		when = min(when, kr_assoc_deadline(&assocs[i]));
	return next_timer(clients, next_timer(servers, when));
}

/* As pass(), by every carrier. */
static UNUSED void lanes_pass(u64 ns)
{
	u64 until = now + ns, when;
	int i;

	for (;;) {
		lanes_settle();
		when = lanes_next(until);
		if (when >= until)
			break;
		now = max(now + 1, when);
		for (i = 0; i < 2; i++)
			kr_assoc_timeout(&assocs[i], now);
		run_timers(clients);
		run_timers(servers);
	}
	now = max(now, until);
}

/* Connection 0 is open at both ends, and lane 0 is beside the path. */
static UNUSED void lane_connected(void)
{
	connected();
	lane_open(0, false);
	lanes_settle();
}

/* Neither side has the path any more. */
static UNUSED void ud_lost(void)
{
	kr_assoc_path_lost(&assocs[CLIENT], now);
	kr_assoc_path_lost(&assocs[SERVER], now);
}

/* A hand-made packet by lane @nr into @to: @h without tag, lane and length. */
static UNUSED void lane_say(int nr, int to, struct kr_hdr h, const u8 *body, u32 len)
{
	u8 *p = malloc(KR_HDR_LEN + len);

	h.tag = assocs[to].local_id;
	h.lane = 1;
	h.body_len = len;
	kr_wire_put_hdr(p, &h);
	if (len)
		memcpy(p + KR_HDR_LEN, body, len);
	kr_assoc_lane_input(&assocs[to], lane_of(nr, to), p, KR_HDR_LEN + len, now);
	free(p);
}

#endif
