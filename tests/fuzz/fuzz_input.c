// SPDX-License-Identifier: MIT
/*
 * fuzz_input: any packets of a peer that knows our tag, by UD and by a lane, into both
 * ends of an association with VQPs in each state.  Bounds hold, what is sent is well formed,
 * a VQP changes only as PROTOCOL.md section 6 says, and a message for nobody
 * changes none and gets the answer of that table.
 *
 * The first byte of each packet says how it comes (below) and how much time passes
 * before it, the second how long it is.
 */
#include "fuzz.h"
#include "unit/lanes.h"

enum {
	HOW_NUMBERED = 0x01,		/* with the next number */
	HOW_ACK = 0x02,			/* acknowledges all that was sent */
	HOW_PASS = 0x04,		/* time passes after it */
	HOW_AIM = 0x08,			/* dst and src select a VQP and are replaced by its ids */
	HOW_CLIENT = 0x10,		/* into the side that connects */
	HOW_LANE = 0x20,		/* by the lane; its sender has no path */
	HOW_RAW = 0x40,			/* by the lane, its header as well */
};

enum { VQPS_USED = VQPS - 8 };

static void dial_lost(int i)
{
	nr_drop[SERVER] = ~0u;
	dial(i);
	settle();
	nr_drop[SERVER] = 0;
}

/* Connections: open with unread data, half closed, unconfirmed, connecting. */
static void start(void)
{
	memset(clients, 0, sizeof(clients));
	memset(servers, 0, sizeof(servers));
	nr_incoming = 0;
	nr_lanes_failed = 0;
	now = KR_SEC;
	pair_init();
	lane_open(0, false);
	dial(0);
	dial(1);
	pass(5 * KR_MSEC);
	put_zeros(&clients[0].v, 3000);
	kr_vqp_shutdown(&clients[1].v, now);
	settle();
	dial_lost(2);
	nr_drop[CLIENT] = 1;
	dial(3);
	settle();
}

static bool is_used(const struct kr_vqp *v)
{
	return v->kind;
}

static void stop(void)
{
	int i;

	lane_break(0);
	for (i = 0; i < 2; i++) {
		kr_assoc_end(&assocs[i]);
		while (kr_assoc_abort_some(&assocs[i], ECONNRESET, now))
			;
		kr_assoc_clean(&assocs[i]);
	}
	for (i = 0; i < VQPS; i++) {
		if (is_used(&clients[i].v))
			kr_vqp_clean(&clients[i].v);
		if (is_used(&servers[i].v))
			kr_vqp_clean(&servers[i].v);
	}
	check(!nr_pages && !nr_blocks);
}

static void check_vqp(const struct kr_vqp *v)
{
	const struct kr_tx *tx = &v->tx;
	const struct kr_rx *rx = &v->rx;

	if (!is_used(v))
		return;
	check(tx->head <= tx->next && tx->next <= tx->end && tx->end - tx->head <= tx->limit);
	check(tx->lost.nr <= KR_LOST_RANGES);
	check(rx->read <= rx->accepted && rx->accepted <= rx->edge);
	check(rx->edge - rx->read <= rx->limit && rx->ooo.nr <= KR_OOO_RANGES);
	check(rx->final == KR_POS_NONE || rx->accepted <= rx->final);
	check(kr_buf_nr_pages(&rx->buf) <= rx->limit / KR_PAGE_SIZE + 2);
	check(v->state != KR_VQP_CLOSED || (kr_rx_is_fin(rx) && tx->is_fin_accepted));
	check(v->state != KR_VQP_OPEN || v->peer_id);
}

static void check_lane(const struct kr_assoc *a, const struct kr_lane *l)
{
	bool is_up = l->state == KR_LANE_UP;

	check(a->nr_up == is_up && a->nr_bulk_up == is_up && a->nr_lanes == 1);
	check(l->acked < l->next_pn && l->next_pn - 1 - l->acked <= l->credits);
	check(l->told <= l->taken);
	check(is_up || list_empty(&a->bulk));
	check(a->nr_up || !a->is_peer_deaf);
}

static void check_bounds(void)
{
	const struct kr_assoc *a;
	int i;

	for (a = assocs; a < assocs + 2; a++) {
		check_lane(a, lane_of(0, a - assocs));
		check(a->nr_tombs <= KR_TOMBS_MAX && a->nr_replies <= KR_REPLIES_MAX);
		check(a->ch.inflight <= a->ch.next_pn - a->ch.low_pn);
		check(a->ch.next_pn - a->ch.low_pn <= KR_SENT_RING);
		check(a->nr_vqps <= VQPS);
	}
	for (i = 0; i < VQPS; i++) {
		check_vqp(&clients[i].v);
		check_vqp(&servers[i].v);
	}
}

/* What @from sends goes to the other side, and nothing in it is malformed. */
static void drain(int from)
{
	const u8 *body, *end;
	u8 p[KR_PKT_MAX];
	struct kr_hdr h;
	struct kr_msg m;
	u32 len;

	while ((len = take(from, p))) {
		check(len <= assocs[from].mtu && kr_wire_get_hdr(p, len, &h));
		body = p + KR_HDR_LEN;
		end = body + h.body_len;
		while (body != end)
			check(kr_wire_get_msg(&body, end, &m));
		give(!from, p, len);
	}
	check(kr_assoc_run_lanes(&assocs[from], now) == KR_RUN_DONE);
	lanes_arrive(from);
}

#define TO(state) (1u << KR_VQP_##state)

/* The states that PROTOCOL.md allows after @type came for a VQP in @state. */
static u32 may_become(enum kr_vqp_state state, u8 type)
{
	switch (state) {
	case KR_VQP_CONNECTING:
		return TO(CONNECTING) | (type == KR_MSG_ACCEPT ? TO(OPEN) : 0) |
		       (type == KR_MSG_REJECT ? TO(REFUSED) : 0) |
		       (type == KR_MSG_RST ? TO(ABORTED) : 0);
	case KR_VQP_ACCEPTING:
		if (type == KR_MSG_DATA || type == KR_MSG_WINDOW)
			return TO(OPEN) | TO(ABORTED);
		return TO(ACCEPTING) |
		       (type == KR_MSG_RST || type == KR_MSG_CANCEL ? TO(ABORTED) : 0);
	case KR_VQP_OPEN:
		if (type == KR_MSG_RST)
			return TO(ABORTED);
		if (type == KR_MSG_CLOSED)
			return TO(CLOSED) | TO(ABORTED);
		return TO(OPEN) |
		       (type == KR_MSG_DATA || type == KR_MSG_WINDOW ? TO(CLOSED) | TO(ABORTED) : 0);
	default:
		return 1u << state;
	}
}

/* Is there nothing at @a that @m is for, by both of its ids? */
static bool is_stray(const struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_slot *s = kr_table_find(&a->table, m->dst);
	u64 peer_id;

	if (!s)
		return true;
	if (s->kind == KR_SLOT_TOMB)
		return ((struct kr_tomb *)s->obj)->peer_id != m->src;
	peer_id = ((struct kr_vqp *)s->obj)->peer_id;
	return peer_id && peer_id != m->src;
}

static u32 wants_reply(const struct kr_msg *m)
{
	return m->type == KR_MSG_DATA || m->type == KR_MSG_WINDOW ||
	       (m->type == KR_MSG_ACCEPT && m->src);
}

static bool is_about(const struct kr_vqp *v, const struct kr_msg *m)
{
	if (m->type == KR_MSG_CONNECT || m->type == KR_MSG_CANCEL)
		return v->peer_id == m->src;
	return v->id == m->dst;
}

/* One message alone, with nothing acknowledged beside it. */
static void input_message(struct kr_assoc *a, const struct kr_hdr *h, const struct kr_msg *m)
{
	struct user *users = a == &assocs[SERVER] ? servers : clients;
	bool is_for_none = is_stray(a, m) && m->type != KR_MSG_CONNECT &&
			   m->type != KR_MSG_CANCEL;
	struct kr_reply *last = &a->replies[(a->reply_first + a->nr_replies) % KR_REPLIES_MAX];
	u32 replies = a->nr_replies;
	u8 before[VQPS];
	bool may_change[VQPS];
	int i;

	for (i = 0; i < VQPS; i++) {
		before[i] = users[i].v.state;
		may_change[i] = !is_for_none && is_about(&users[i].v, m);
	}
	kr_assoc_input(a, h, m->body - KR_MSG_HDR_LEN, now);
	for (i = 0; i < VQPS; i++) {
		if (may_change[i])
			check(may_become(before[i], m->type) & 1u << users[i].v.state);
		/* One that a CONNECT has just made is ACCEPTING. */
		else if (is_for_none || before[i] != KR_VQP_IDLE)
			check(users[i].v.state == before[i]);
	}
	if (!is_for_none || replies == KR_REPLIES_MAX)
		return;
	check(a->nr_replies == replies + wants_reply(m));
	if (wants_reply(m))
		check(last->type == KR_MSG_RST && last->code == KR_RST_UNKNOWN &&
		      last->dst == m->src && last->src == m->dst);
}

/* Small numbers select a VQP of @a. */
static void aim(struct kr_assoc *a, u8 *msg)
{
	struct user *users = a == &assocs[SERVER] ? servers : clients;

	if (msg[15] < VQPS && users[msg[15]].v.id)
		put_unaligned_be64(users[msg[15]].v.id, msg + 8);
	if (msg[23] < VQPS && users[msg[23]].v.peer_id)
		put_unaligned_be64(users[msg[23]].v.peer_id, msg + 16);
}

static void aim_all(struct kr_assoc *a, const u8 *at, const u8 *end)
{
	struct kr_msg m;

	while (kr_wire_get_msg(&at, end, &m))
		aim(a, (u8 *)m.body - KR_MSG_HDR_LEN);
}

static void input_packet(struct kr_assoc *a, struct kr_hdr *h, u8 *body, u8 how)
{
	const u8 *at = body, *end = body + h->body_len;
	struct kr_msg m;

	if (how & HOW_AIM)
		aim_all(a, body, end);
	if (!h->ack && !a->is_ended && kr_wire_get_msg(&at, end, &m) && at == end)
		input_message(a, h, &m);
	else
		kr_assoc_input(a, h, body, now);
}

static void renew_lane(void)
{
	if (lane_of(0, CLIENT)->state != KR_LANE_FAILED &&
	    lane_of(0, SERVER)->state != KR_LANE_FAILED)
		return;
	lane_break(0);
	lane_open(0, false);
}

/* By the lane @use bytes of @p: any at all, or the body of a packet with the next number. */
static void lane_packet(int to, const u8 *p, u32 use, u8 how)
{
	struct kr_lane *l = lane_of(0, to);
	struct kr_hdr h = { .lane = 1, .flags = KR_PF_DEAF, .tag = assocs[to].local_id };
	u32 hdr_len = how & HOW_RAW ? 0 : KR_HDR_LEN;
	u8 *bytes = malloc(hdr_len + use + 1);
	u32 before;

	renew_lane();
	before = nr_lanes_failed;
	h.body_len = use;
	h.pn = how & HOW_NUMBERED ? l->taken + 1 : 0;
	h.ack = how & HOW_ACK ? l->next_pn - 1 : l->acked;
	if (hdr_len)
		kr_wire_put_hdr(bytes, &h);
	memcpy(bytes + hdr_len, p, use);
	if (hdr_len && how & HOW_AIM)
		aim_all(&assocs[to], bytes + hdr_len, bytes + hdr_len + use);
	kr_assoc_lane_input(&assocs[to], l, bytes, hdr_len + use, now);
	free(bytes);
	check(nr_lanes_failed == before + (l->state == KR_LANE_FAILED));
	check_bounds();
	drain(to);
}

/* Into @to by UD. */
static void ud_packet(int to, const u8 *p, u32 use, u8 how)
{
	struct kr_assoc *a = &assocs[to];
	struct kr_hdr h = { .tag = a->local_id, .body_len = use };
	u8 *body = malloc(use + 1);

	h.pn = how & HOW_NUMBERED ? a->ch.rx_next : 0;
	h.ack = how & HOW_ACK ? a->ch.next_pn : 0;
	memcpy(body, p, use);
	input_packet(a, &h, body, how);
	free(body);
	check_bounds();
	drain(to);
}

static size_t packet(const u8 *p, size_t len)
{
	int to = p[0] & HOW_CLIENT ? CLIENT : SERVER;
	size_t use = min_t(size_t, len - 2, p[1]);

	now += p[0] * 100 * KR_USEC;
	if (nr_incoming < VQPS_USED && p[0] & (HOW_LANE | HOW_RAW))
		lane_packet(to, p + 2, use, p[0]);
	else if (nr_incoming < VQPS_USED)
		ud_packet(to, p + 2, use, p[0]);
	if (p[0] & HOW_PASS)
		lanes_pass(KR_MSEC);
	return 2 + use;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	size_t at = 0;

	start();
	while (len - at > 2)
		at += packet(data + at, len - at);
	lanes_pass(10 * KR_MSEC);
	check_bounds();
	stop();
	return 0;
}
