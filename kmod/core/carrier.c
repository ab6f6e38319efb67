// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which carrier takes what, and the life of lanes in an association.
 *
 * While the UD path works, lanes that are up take the DATA of VQPs that have much of
 * it (kr_assoc.bulk), and the path takes all else.  Without a path, lanes take all.
 */
#include "assoc.h"

#define KR_NEVER (~0ull)

/* Nothing of ours arrives by UD, or nothing of the peer's does. */
static bool is_deaf(const struct kr_assoc *a)
{
	return a->path != KR_PATH_READY || kr_channel_is_silent(&a->ch);
}

bool kr_assoc_is_by_lanes(const struct kr_assoc *a)
{
	return a->nr_up && (is_deaf(a) || a->is_peer_deaf);
}

u8 kr_assoc_lane_flags(struct kr_assoc *a)
{
	a->is_deaf_told = is_deaf(a);
	return a->is_deaf_told ? KR_PF_DEAF : 0;
}

bool kr_assoc_is_lane_ping_due(const struct kr_assoc *a)
{
	return a->is_lane_ping_due || is_deaf(a) != a->is_deaf_told;
}

struct list_head *kr_assoc_queue(struct kr_assoc *a, const struct kr_vqp *v)
{
	bool is_bulk = a->nr_bulk_up && !kr_assoc_is_by_lanes(a) && kr_tx_is_bulk(&v->tx);

	return is_bulk ? &a->bulk : &a->data;
}

static void count(struct kr_assoc *a, const struct kr_lane *l, int by)
{
	a->nr_up += by;
	if (!l->is_last)
		a->nr_bulk_up += by;
	/* What waited for lanes goes by UD. */
	if (!a->nr_bulk_up)
		list_splice_tail_init(&a->bulk, &a->data);
	if (!a->nr_up)
		a->is_peer_deaf = false;
}

/* The only place that assigns a lane's state. */
static void set_state(struct kr_assoc *a, struct kr_lane *l, enum kr_lane_state to)
{
	bool was_up = l->state == KR_LANE_UP;

	l->state = to;
	if (was_up == (to == KR_LANE_UP))
		return;
	count(a, l, was_up ? -1 : 1);
	/* With a lane that word may be lost, and the peer forgets it with the last one. */
	a->is_deaf_told = false;
}

int kr_assoc_lane_open(struct kr_assoc *a, struct kr_lane *l,
		       const struct kr_lane_terms *t, u64 now)
{
	if (a->is_ended || !a->is_proven)
		return -ECONNRESET;
	if (a->nr_lanes >= KR_LANES_MAX)
		return -EMFILE;
	if (t->size < KR_PKT_MIN || !t->credits)
		return -EINVAL;
	a->now = now;
	memset(l, 0, sizeof(*l));
	l->size = min_t(u32, t->size, KR_LANE_SIZE_MAX);
	l->credits = min_t(u32, t->credits, KR_LANE_CREDITS_MAX);
	l->is_last = t->is_last;
	l->ops = t->ops;
	l->port = t->port;
	l->next_pn = 1;
	l->used_ns = now;
	a->nr_lanes++;
	list_add_tail(&l->node, &a->lanes);
	set_state(a, l, KR_LANE_UP);
	return 0;
}

void kr_assoc_lane_close(struct kr_assoc *a, struct kr_lane *l, u64 now)
{
	if (l->state == KR_LANE_CLOSED)
		return;
	a->now = now;
	set_state(a, l, KR_LANE_CLOSED);
	list_del_init(&l->node);
	a->nr_lanes--;
	if (!a->nr_lanes)
		a->is_peer_deaf = false;
	kr_lane_clean(l, kr_assoc_sent, a);
	kr_assoc_tick_touched(a);
}

static void fail(struct kr_assoc *a, struct kr_lane *l)
{
	if (l->state == KR_LANE_FAILED)
		return;
	set_state(a, l, KR_LANE_FAILED);
	kr_lane_lose(l, kr_assoc_sent, a);
	a->ops->lane_failed(a, l);
}

static bool is_answered(struct kr_assoc *a, struct kr_lane *l, const struct kr_hdr *h)
{
	u64 before = l->acked;

	if (!kr_lane_on_ack(l, h->ack, a->now, kr_assoc_sent, a))
		return false;
	if (l->state == KR_LANE_DOUBT && l->acked != before)
		set_state(a, l, KR_LANE_UP);
	return true;
}

/*
 * Only lanes say that the peer is deaf: what comes by UD may have been under way when it
 * became so.  What we sent there is lost, and PINGs, which nothing else makes us send, show
 * whether our path is of any use: without an answer it gets silent, and a new one is sought.
 */
static void hear_of_path(struct kr_assoc *a, bool is_deaf)
{
	if (is_deaf && !a->is_peer_deaf)
		kr_channel_lose(&a->ch, kr_assoc_sent, a);
	if (is_deaf && !a->ch.inflight && !kr_channel_is_silent(&a->ch))
		kr_assoc_ping(a);
	a->is_peer_deaf = is_deaf;
}

static bool take(struct kr_assoc *a, struct kr_lane *l, const struct kr_hdr *h,
		 const u8 *body)
{
	a->stats.rx_bytes += h->body_len;
	if (h->tag != a->local_id || !is_answered(a, l, h) || (h->pn && h->pn != l->taken + 1)) {
		a->stats.rx_malformed++;
		return false;
	}
	a->heard_ns = a->now;
	hear_of_path(a, h->flags & KR_PF_DEAF);
	if (!kr_assoc_take_messages(a, body, body + h->body_len))
		return false;
	if (h->pn)
		kr_lane_took(l, a->now);
	/* Who only receives shall not take the lane for idle. */
	if (h->pn && !l->is_last)
		a->bulk_bytes += h->body_len;
	return true;
}

void kr_assoc_lane_input(struct kr_assoc *a, struct kr_lane *l, const u8 *p, u32 len,
			 u64 now)
{
	struct kr_hdr h;
	bool is_one;

	a->now = now;
	if (a->is_ended || !kr_lane_is_open(l))
		return;
	l->rx_packets++;
	l->rx_bytes += len;
	a->stats.rx_packets++;
	is_one = kr_wire_get_hdr(p, len, &h) && h.lane;
	a->stats.rx_malformed += !is_one;
	a->is_by_lane = true;
	/* It is reliable, so the peer is wrong, and what follows means nothing. */
	if ((!is_one || !take(a, l, &h, p + KR_HDR_LEN)) && !a->is_ended)
		fail(a, l);
	a->is_by_lane = false;
	kr_assoc_tick_touched(a);
}

static u64 stall_ns(const struct kr_assoc *a, const struct kr_lane *l)
{
	bool is_alone = is_deaf(a) && a->nr_up == (l->state == KR_LANE_UP);

	return is_alone ? KR_LANE_ALONE_NS : KR_LANE_STALL_NS;
}

u64 kr_assoc_lane_deadline(const struct kr_assoc *a, const struct kr_lane *l)
{
	u64 since = kr_lane_waits_since(l), when = KR_NEVER;

	if (l->state == KR_LANE_FAILED)
		return KR_NEVER;
	if (since)
		when = since + (l->state == KR_LANE_UP ? kr_lane_doubt_ns(l) : stall_ns(a, l));
	if (l->ack_ns > a->now)
		when = min(when, l->ack_ns);
	return when;
}

bool kr_assoc_is_lane_asked(const struct kr_assoc *a)
{
	const struct kr_lane *l;

	if (kr_assoc_is_lane_ping_due(a))
		return true;
	list_for_each_entry(l, &a->lanes, node)
		if (l->state == KR_LANE_UP && kr_lane_waits_since(l))
			return true;
	return false;
}

static void lane_timeout(struct kr_assoc *a, struct kr_lane *l)
{
	u64 since = kr_lane_waits_since(l);

	if (!since || l->state == KR_LANE_FAILED)
		return;
	if (l->state == KR_LANE_UP && a->now - since >= kr_lane_doubt_ns(l)) {
		l->nr_doubts++;
		set_state(a, l, KR_LANE_DOUBT);
		kr_lane_lose(l, kr_assoc_sent, a);
	}
	if (l->state == KR_LANE_DOUBT && a->now - since >= stall_ns(a, l))
		fail(a, l);
}

void kr_assoc_lanes_timeout(struct kr_assoc *a)
{
	struct kr_lane *l, *next;

	list_for_each_entry_safe(l, next, &a->lanes, node)
		lane_timeout(a, l);
	kr_assoc_tick_touched(a);
}

static bool has_last_lane(const struct kr_assoc *a)
{
	const struct kr_lane *l;

	list_for_each_entry(l, &a->lanes, node)
		if (l->is_last && kr_lane_is_open(l))
			return true;
	return false;
}

/* A lane in doubt may take long to fail, or may not fail at all. */
bool kr_assoc_wants_last_lane(const struct kr_assoc *a)
{
	return a->is_proven && !a->is_ended && !a->is_loop && is_deaf(a) && !a->nr_up &&
	       !has_last_lane(a) && (a->nr_vqps || a->nr_tombs);
}
