// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Life of an association, its path, its tombstones and timers: see assoc.h. */
#include "assoc.h"

#define KR_NEVER (~0ull)

void kr_assoc_init(struct kr_assoc *a, const struct kr_ops *ops, void *owner,
		   u64 local_id, const u8 local_instance[16],
		   const u8 peer_instance[16], u64 now)
{
	u32 i;

	memset(a, 0, sizeof(*a));
	a->ops = ops;
	a->owner = owner;
	a->local_id = local_id;
	memcpy(a->local_instance, local_instance, 16);
	memcpy(a->peer_instance, peer_instance, 16);
	a->heard_ns = now;
	a->mtu = KR_PKT_MIN;
	kr_channel_init(&a->ch);
	kr_table_init(&a->table);
	INIT_LIST_HEAD(&a->vqps);
	INIT_LIST_HEAD(&a->control);
	INIT_LIST_HEAD(&a->confirm);
	INIT_LIST_HEAD(&a->data);
	INIT_LIST_HEAD(&a->bulk);
	INIT_LIST_HEAD(&a->lanes);
	INIT_LIST_HEAD(&a->news);
	INIT_LIST_HEAD(&a->touched);
	INIT_LIST_HEAD(&a->tombs);
	INIT_LIST_HEAD(&a->tomb_control);
	for (i = 0; i < KR_PENDING_BUCKETS; i++)
		INIT_LIST_HEAD(&a->unconfirmed[i]);
}

void kr_assoc_clean(struct kr_assoc *a)
{
	KR_ASSERT(!a->nr_vqps && !a->nr_lanes);
	while (!list_empty(&a->tombs))
		kr_tomb_free(a, list_first_entry(&a->tombs, struct kr_tomb, node));
	kr_channel_clean(&a->ch, kr_assoc_sent, a);
	kr_table_clean(&a->table);
}

bool kr_timer_moves(u64 armed, u64 *when, u64 now)
{
	bool is_late = now > armed && now - armed >= KR_TIMER_LATE_NS;

	if (*when == KR_NEVER)
		return false;
	/* One that is due already is not put off again and again. */
	*when = max(*when, now);
	return *when < armed || is_late;
}

struct kr_vqp *kr_assoc_find_vqp(struct kr_assoc *a, u64 id)
{
	struct kr_slot *s = kr_table_find(&a->table, id);

	return s && s->kind == KR_SLOT_VQP ? s->obj : NULL;
}

struct list_head *kr_assoc_bucket(struct kr_assoc *a, u64 peer_id)
{
	return &a->unconfirmed[peer_id % KR_PENDING_BUCKETS];
}

struct kr_vqp *kr_assoc_find_unconfirmed(struct kr_assoc *a, u64 peer_id)
{
	struct kr_vqp *v;

	list_for_each_entry(v, kr_assoc_bucket(a, peer_id), unconfirmed)
		if (v->peer_id == peer_id)
			return v;
	return NULL;
}

void kr_assoc_reply(struct kr_assoc *a, u8 type, u64 dst, u64 src, u32 code)
{
	struct kr_reply *r;

	if (a->nr_replies == KR_REPLIES_MAX) {
		a->stats.replies_dropped++;
		return;
	}
	r = &a->replies[(a->reply_first + a->nr_replies++) % KR_REPLIES_MAX];
	r->type = type;
	r->dst = dst;
	r->src = src;
	r->code = code;
}

void kr_tomb_send(struct kr_assoc *a, struct kr_tomb *t)
{
	if (list_empty(&t->control))
		list_add_tail(&t->control, &a->tomb_control);
}

void kr_tomb_free(struct kr_assoc *a, struct kr_tomb *t)
{
	list_del_init(&t->node);
	list_del_init(&t->control);
	kr_table_del(&a->table, t->id);
	kr_env_free(t);
	a->nr_tombs--;
}

void kr_tomb_settle(struct kr_assoc *a, struct kr_tomb *t)
{
	if (t->is_delivered && t->is_peer_done)
		kr_tomb_free(a, t);
}

static void vqp_sent(struct kr_assoc *a, struct kr_vqp *v,
		     const struct kr_sent_msg *m, bool is_lost)
{
	switch (m->type) {
	case KR_MSG_DATA:
		if (is_lost)
			kr_tx_lost(&v->tx, m->pos, m->len, m->flags & KR_MF_FIN);
		else
			kr_tx_delivered(&v->tx);
		kr_vqp_pump(v);
		/* What the packet says next may change what there is to wait for. */
		if (list_empty(&v->touched))
			list_add_tail(&v->touched, &a->touched);
		break;
	case KR_MSG_CONNECT:
		if (is_lost && v->state == KR_VQP_CONNECTING)
			kr_vqp_send(v, KR_SEND_CONNECT);
		break;
	case KR_MSG_ACCEPT:
		if (is_lost && v->state == KR_VQP_ACCEPTING)
			kr_vqp_send(v, KR_SEND_ACCEPT);
		break;
	case KR_MSG_WINDOW:
		if (is_lost && v->state == KR_VQP_OPEN)
			kr_vqp_send(v, KR_SEND_WINDOW |
				       (m->flags & KR_MF_PROBE ? KR_SEND_PROBE : 0) |
				       (m->flags & KR_MF_AGAIN ? KR_SEND_AGAIN : 0));
		break;
	}
}

void kr_assoc_tick_touched(struct kr_assoc *a)
{
	struct kr_vqp *v;

	while (!list_empty(&a->touched)) {
		v = list_first_entry(&a->touched, struct kr_vqp, touched);
		list_del_init(&v->touched);
		kr_vqp_tick(v, a->now);
	}
}

/* The channel tells what became of a message: see kr_sent_fn. */
void kr_assoc_sent(void *ctx, const struct kr_sent_msg *m, bool is_lost)
{
	struct kr_assoc *a = ctx;
	struct kr_slot *s;

	if (!m->vqp) {
		/* A lost PING: the question stands while somebody needs the peer. */
		if (is_lost && a->nr_vqps)
			a->is_ping_due = true;
		return;
	}
	s = kr_table_find(&a->table, m->vqp);
	if (!s)
		return;
	if (s->kind == KR_SLOT_VQP) {
		vqp_sent(a, s->obj, m, is_lost);
	} else if (m->type == KR_MSG_CLOSED || m->type == KR_MSG_RST) {
		struct kr_tomb *t = s->obj;

		if (is_lost)
			kr_tomb_send(a, t);
		else
			t->is_delivered = true;
		kr_tomb_settle(a, t);
	}
}

static void set_path(struct kr_assoc *a, enum kr_path_state to)
{
	a->path = to;
	a->is_silent_told = false;
}

/* @remote_nr: the number of that end, as far as it is known. */
static void set_ends(struct kr_assoc *a, const struct kr_end *local,
		     const struct kr_end *remote, u16 remote_nr)
{
	u16 nr = a->local.nr + !kr_end_is_same(&a->local, local);

	a->local = *local;
	a->local.nr = nr;
	a->remote = *remote;
	a->remote.nr = remote_nr;
	a->mtu = min_t(u32, min(local->mtu, remote->mtu), KR_PKT_MAX);
}

void kr_assoc_path_start(struct kr_assoc *a, const struct kr_end *local,
			 const struct kr_end *remote, u64 token, u64 now)
{
	if (a->is_ended)
		return;
	set_ends(a, local, remote, a->remote.nr);
	a->token = token;
	a->path_tries = 0;
	a->path_ns = now;
	set_path(a, KR_PATH_PROBING);
}

static void path_ready(struct kr_assoc *a, u64 now)
{
	if (a->path == KR_PATH_READY)
		return;
	set_path(a, KR_PATH_READY);
	a->path_ns = 0;
	a->heard_ns = now;
	a->ops->path_event(a, KR_PATH_EV_READY);
}

int kr_assoc_path_req(struct kr_assoc *a, const struct kr_end *local,
		      const struct kr_path_msg *pm, u64 now)
{
	a->now = now;
	if (a->is_ended)
		return -EALREADY;
	if (a->remote_id && a->remote_id != pm->assoc) {
		/*
		 * A claim that was never proven gives way, but not in place: packets of
		 * that peer may be under way with our tag, from VQP 1 and number 1 on as
		 * those of the next.  The peer of a tombstone may wait for its last word.
		 */
		if (!a->is_proven || (!a->nr_vqps && !a->nr_tombs))
			return -ESTALE;
		if (a->path != KR_PATH_READY)
			return -ENOTCONN;
		kr_assoc_ping(a);
		return -EEXIST;
	}
	/* It was under way when its sender moved on. */
	if (a->remote_id == pm->assoc && (s16)(pm->end.nr - a->remote.nr) < 0)
		return -EALREADY;
	a->remote_id = pm->assoc;
	set_ends(a, local, &pm->end, pm->end.nr);
	a->is_path_rep_due = true;
	return 0;
}

void kr_assoc_path_rep(struct kr_assoc *a, const struct kr_path_msg *pm, u64 now)
{
	a->now = now;
	/* Another packet of the peer was the proof before. */
	if (a->path == KR_PATH_READY)
		return;
	if (a->is_ended || a->path != KR_PATH_PROBING ||
	    pm->peer_assoc != a->local_id ||
	    memcmp(pm->instance, a->peer_instance, 16) ||
	    (a->remote_id && a->remote_id != pm->assoc)) {
		a->stats.rx_malformed++;
		return;
	}
	/* It was under way when the peer moved on, which will be answered as well. */
	if (a->remote_id && (s16)(pm->end.nr - a->remote.nr) < 0)
		return;
	a->remote_id = pm->assoc;
	a->is_proven = true;
	a->mtu = min_t(u32, a->mtu, pm->end.mtu);
	a->remote.nr = pm->end.nr;
	/* The peer waits for a packet with its tag: that is its proof. */
	a->is_ping_due = true;
	path_ready(a, now);
}

void kr_assoc_path_lost(struct kr_assoc *a, u64 now)
{
	struct kr_channel *ch = &a->ch;
	u64 next_pn = ch->next_pn, rx_next = ch->rx_next;
	u64 map[KR_SACK_WORDS];

	a->now = now;
	set_path(a, KR_PATH_NONE);
	a->path_ns = 0;
	a->is_path_rep_due = false;
	/* A packet that was still under way must not bring it back. */
	a->remote.qpn = 0;
	/* Numbers go on: what is still under way stays recognisable. */
	memcpy(map, ch->rx_map, sizeof(map));
	kr_channel_clean(ch, kr_assoc_sent, a);
	kr_channel_init(ch);
	ch->next_pn = next_pn;
	ch->low_pn = next_pn;
	ch->rx_next = rx_next;
	memcpy(ch->rx_map, map, sizeof(map));
	kr_assoc_tick_touched(a);
}

void kr_assoc_ping(struct kr_assoc *a)
{
	if (a->path == KR_PATH_READY)
		a->is_ping_due = true;
}

static u64 keepalive_ns(const struct kr_assoc *a)
{
	/* Spread by a part of our random id, so that hosts do not ask in step. */
	return KR_KEEPALIVE_NS + (a->local_id & 0xff) * 8 * KR_MSEC;
}

static u64 path_deadline(const struct kr_assoc *a)
{
	u64 when;

	/* What is due already waits for output (a send slot), not for time. */
	if (a->path == KR_PATH_PROBING)
		return a->path_ns > a->now || a->path_tries >= KR_PATH_TRIES ?
		       a->path_ns : KR_NEVER;
	if (a->path != KR_PATH_READY)
		return KR_NEVER;
	when = kr_channel_deadline(&a->ch, a->now);
	if ((a->nr_vqps || a->nr_tombs) && !a->ch.inflight && !a->is_ping_due)
		when = min(when, a->heard_ns + keepalive_ns(a));
	return when;
}

/* When lanes, for want of a path, ask whether the peer is alive. */
static u64 lane_keepalive_at(const struct kr_assoc *a)
{
	if (!kr_assoc_is_by_lanes(a) || !(a->nr_vqps || a->nr_tombs) || kr_assoc_is_lane_asked(a))
		return KR_NEVER;
	return a->heard_ns + keepalive_ns(a);
}

u64 kr_assoc_deadline(const struct kr_assoc *a)
{
	struct kr_lane *l;
	u64 when;

	if (a->is_ended || a->is_loop)
		return KR_NEVER;
	when = min(path_deadline(a), lane_keepalive_at(a));
	list_for_each_entry(l, &a->lanes, node)
		when = min(when, kr_assoc_lane_deadline(a, l));
	return when;
}

static void path_timeout(struct kr_assoc *a, u64 now)
{
	if (now < a->path_ns || a->path_tries < KR_PATH_TRIES)
		return;
	set_path(a, KR_PATH_NONE);
	a->path_ns = 0;
	a->ops->path_event(a, KR_PATH_EV_FAILED);
}

void kr_assoc_timeout(struct kr_assoc *a, u64 now)
{
	u64 nr_pto;

	a->now = now;
	if (a->is_ended)
		return;
	kr_assoc_lanes_timeout(a);
	a->is_lane_ping_due |= lane_keepalive_at(a) <= now;
	if (a->path == KR_PATH_PROBING) {
		path_timeout(a, now);
		return;
	}
	if (a->path != KR_PATH_READY)
		return;
	nr_pto = a->ch.nr_pto;
	kr_channel_timeout(&a->ch, now, kr_assoc_sent, a);
	kr_assoc_tick_touched(a);
	/* A peer that does not know us any more says so to a PING. */
	if (a->ch.nr_pto != nr_pto && (a->nr_vqps || a->nr_tombs))
		a->is_ping_due = true;
	if ((a->nr_vqps || a->nr_tombs) && !a->ch.inflight && now >= a->heard_ns + keepalive_ns(a))
		a->is_ping_due = true;
	if (kr_channel_is_silent(&a->ch) && !a->is_silent_told) {
		a->is_silent_told = true;
		a->ops->path_event(a, KR_PATH_EV_SILENT);
	}
}

void kr_assoc_end(struct kr_assoc *a)
{
	a->is_ended = true;
	set_path(a, KR_PATH_NONE);
	a->path_ns = 0;
	a->is_path_rep_due = false;
}

bool kr_assoc_abort_some(struct kr_assoc *a, int err, u64 now)
{
	struct kr_vqp *v;
	u32 i;

	a->now = now;
	for (i = 0; i < KR_ABORT_BATCH && !list_empty(&a->vqps); i++) {
		v = list_first_entry(&a->vqps, struct kr_vqp, node);
		/* What was never connected may still become something else. */
		if (v->state == KR_VQP_CONNECTING)
			kr_vqp_refused(v, KR_REFUSAL_TIMEOUT);
		else
			kr_vqp_abort(v, err, 0, now);
	}
	return !list_empty(&a->vqps);
}
