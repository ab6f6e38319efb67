// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The next packet for the peer.  Messages are built from the state of the
 * moment, in this order: answers to strays, last words of the dead, control of
 * VQPs, DATA round robin, and what can wait for any packet: confirmations and what
 * was accepted and not told yet.  Control does not wait for the congestion window.
 */
#include "assoc.h"

/* A packet under construction. */
struct packet {
	u8 *at;
	u8 *end;
	struct kr_sent *rec;		/* NULL: no record can be had */
	bool is_numbered;
};

static u32 room(const struct packet *pk)
{
	return pk->end - pk->at;
}

/* May another tracked message with @body bytes go in? */
static bool fits(const struct packet *pk, u32 body, bool is_tracked)
{
	if (room(pk) < KR_MSG_HDR_LEN + body)
		return false;
	return !is_tracked || (pk->rec && pk->rec->nr_msgs < KR_PKT_MSGS_MAX);
}

static void track(struct packet *pk, u64 vqp, u8 type, u8 flags, u64 pos, u16 len)
{
	struct kr_sent_msg *m = &pk->rec->msgs[pk->rec->nr_msgs++];

	m->vqp = vqp;
	m->type = type;
	m->flags = flags;
	m->pos = pos;
	m->len = len;
	pk->is_numbered = true;
}

static void put_replies(struct kr_assoc *a, struct packet *pk)
{
	struct kr_msg m = { 0 };
	struct kr_reply *r;

	while (a->nr_replies && fits(pk, KR_CODE_LEN, false)) {
		r = &a->replies[a->reply_first];
		m.type = r->type;
		m.dst = r->dst;
		m.src = r->src;
		m.len = 0;
		if (r->type == KR_MSG_CANCEL)
			pk->at += kr_wire_put_msg(pk->at, &m);
		else
			pk->at += kr_wire_put_code(pk->at, &m, r->code);
		a->reply_first = (a->reply_first + 1) % KR_REPLIES_MAX;
		a->nr_replies--;
	}
}

static void put_tombs(struct kr_assoc *a, struct packet *pk)
{
	struct kr_msg m = { 0 };
	struct kr_tomb *t;

	while (!list_empty(&a->tomb_control) && fits(pk, KR_CLOSED_LEN, true)) {
		t = list_first_entry(&a->tomb_control, struct kr_tomb, control);
		list_del_init(&t->control);
		m.dst = t->peer_id;
		m.src = t->id;
		if (t->code) {
			m.type = KR_MSG_RST;
			pk->at += kr_wire_put_code(pk->at, &m, t->code);
		} else {
			m.type = KR_MSG_CLOSED;
			pk->at += kr_wire_put_u64(pk->at, &m, t->accepted);
		}
		track(pk, t->id, m.type, 0, 0, 0);
	}
}

static void put_window(struct kr_vqp *v, struct packet *pk, u8 flags, bool is_tracked)
{
	struct kr_msg m = { .dst = v->peer_id, .src = v->id, .flags = flags };

	pk->at += kr_wire_put_window(pk->at, &m, kr_rx_accepted(&v->rx),
				     kr_rx_edge(&v->rx));
	kr_rx_tell(&v->rx);
	list_del_init(&v->news);
	if (is_tracked)
		track(pk, v->id, KR_MSG_WINDOW, flags, 0, 0);
}

static void put_connect(struct kr_vqp *v, struct packet *pk)
{
	struct kr_msg m = { .src = v->id };
	struct kr_connect c = {
		.cookie = v->cookie,
		.edge = kr_rx_edge(&v->rx),
		.kind = v->kind,
		.tuple = v->tuple,
	};

	pk->at += kr_wire_put_connect(pk->at, &m, &c);
	kr_rx_tell(&v->rx);
	track(pk, v->id, KR_MSG_CONNECT, 0, 0, 0);
}

static void put_accept(struct kr_vqp *v, struct packet *pk)
{
	struct kr_msg m = { .type = KR_MSG_ACCEPT, .dst = v->peer_id, .src = v->id };

	pk->at += kr_wire_put_u64(pk->at, &m, kr_rx_edge(&v->rx));
	kr_rx_tell(&v->rx);
	track(pk, v->id, KR_MSG_ACCEPT, 0, 0, 0);
}

static u8 window_flags(u32 pending)
{
	return (pending & KR_SEND_PROBE ? KR_MF_PROBE : 0) |
	       (pending & KR_SEND_AGAIN ? KR_MF_AGAIN : 0);
}

/* False: the packet is full. */
static bool put_control(struct kr_vqp *v, struct packet *pk)
{
	if (!fits(pk, KR_CONNECT_LEN, true))
		return false;
	if (v->pending & KR_SEND_CONNECT)
		put_connect(v, pk);
	else if (v->pending & KR_SEND_ACCEPT)
		put_accept(v, pk);
	else if (v->pending && v->state == KR_VQP_OPEN)
		put_window(v, pk, window_flags(v->pending), true);
	v->pending = 0;
	list_del_init(&v->control);
	return true;
}

static void put_all_control(struct kr_assoc *a, struct packet *pk)
{
	while (!list_empty(&a->control))
		if (!put_control(list_first_entry(&a->control, struct kr_vqp, control), pk))
			break;
}

static void put_data(struct kr_vqp *v, struct packet *pk)
{
	u32 max_len = room(pk) - KR_MSG_HDR_LEN - KR_DATA_LEN;
	struct kr_msg m = { .dst = v->peer_id, .src = v->id };
	struct kr_data d = { 0 };
	struct kr_tx_piece piece;
	bool is_bulk = kr_tx_is_bulk(&v->tx);

	if (!kr_tx_take(&v->tx, max_len, v->cork, &piece))
		return;
	kr_buf_read(&v->tx.buf, piece.pos,
		    pk->at + KR_MSG_HDR_LEN + KR_DATA_LEN, piece.len);
	d.pos = piece.pos;
	d.len = piece.len;
	d.accepted = kr_rx_accepted(&v->rx);
	d.edge = kr_rx_edge(&v->rx);
	m.flags = piece.is_fin ? KR_MF_FIN : 0;
	pk->at += kr_wire_put_data(pk->at, &m, &d);
	kr_rx_tell(&v->rx);
	list_del_init(&v->news);
	if (v->pending == KR_SEND_CONFIRM) {
		v->pending = 0;
		list_del_init(&v->control);
	}
	track(pk, v->id, KR_MSG_DATA, m.flags, piece.pos, piece.len);
	if (is_bulk)
		v->assoc->bulk_bytes += piece.len;
}

enum { DATA_ROOM_MIN = KR_DATA_LEN + 64 };

/*
 * DATA of the VQPs on @list in turn; a VQP with more to send goes to the end.  From data
 * it may go to bulk, as lanes run after the path; what lanes began they finish.
 */
static void put_all_data(struct kr_assoc *a, struct list_head *list, struct packet *pk)
{
	struct kr_vqp *v;

	while (!list_empty(list) && fits(pk, DATA_ROOM_MIN, true)) {
		v = list_first_entry(list, struct kr_vqp, data);
		list_del_init(&v->data);
		put_data(v, pk);
		if (list == &a->bulk && kr_tx_is_sendable(&v->tx, v->cork))
			list_add_tail(&v->data, list);
		else
			kr_vqp_pump(v);
		kr_vqp_tick(v, a->now);
	}
}

static void put_news(struct kr_assoc *a, struct packet *pk)
{
	while (!list_empty(&a->news) && fits(pk, KR_WINDOW_LEN, false))
		put_window(list_first_entry(&a->news, struct kr_vqp, news), pk, 0,
			   false);
}

u32 kr_assoc_put_control(struct kr_assoc *a, u8 *p, u32 size, struct kr_sent *rec)
{
	struct packet pk = { .at = p, .end = p + size, .rec = rec };

	list_splice_tail_init(&a->confirm, &a->control);
	put_replies(a, &pk);
	put_tombs(a, &pk);
	put_all_control(a, &pk);
	return pk.at - p;
}

static u32 finish(struct kr_assoc *a, u8 *p, struct packet *pk, u64 now)
{
	struct kr_hdr h = { .tag = a->remote_id };

	h.body_len = pk->at - p - KR_HDR_LEN;
	if (pk->is_numbered)
		h.pn = kr_channel_commit(&a->ch, pk->rec, now);
	if (pk->is_numbered && kr_channel_is_ask_due(&a->ch, h.pn))
		h.flags = KR_PF_ACK_NOW;
	kr_channel_put_ack(&a->ch, &h, now);
	kr_wire_put_hdr(p, &h);
	a->stats.tx_packets++;
	a->stats.tx_bytes += h.body_len;
	return pk->at - p;
}

/* A packet of its own, outside the numbering: PATH_REQ or PATH_REP. */
static u32 put_path(struct kr_assoc *a, u8 *p, u8 type)
{
	struct kr_msg m = { .type = type };
	struct kr_path_msg pm = {
		.assoc = a->local_id,
		.peer_assoc = a->remote_id,
		.token = a->token,
		.end = a->local,
	};
	struct kr_hdr h = { .tag = a->remote_id };

	memcpy(pm.instance, a->local_instance, 16);
	h.body_len = kr_wire_put_path(p + KR_HDR_LEN, &m, &pm);
	kr_wire_put_hdr(p, &h);
	a->stats.tx_packets++;
	return KR_HDR_LEN + h.body_len;
}

static u32 path_output(struct kr_assoc *a, u8 *p, u64 now)
{
	if (a->is_path_rep_due) {
		a->is_path_rep_due = false;
		return put_path(a, p, KR_MSG_PATH_REP);
	}
	if (a->path == KR_PATH_PROBING && now >= a->path_ns &&
	    a->path_tries < KR_PATH_TRIES) {
		a->path_ns = now + (KR_PATH_RETRY_NS << a->path_tries);
		a->path_tries++;
		return put_path(a, p, KR_MSG_PATH_REQ);
	}
	return 0;
}

static bool is_ping_needed(const struct kr_assoc *a, const struct packet *pk)
{
	return a->is_ping_due ||
	       (a->ch.probes && a->ch.inflight && !pk->is_numbered);
}

static void put_ping(struct kr_assoc *a, struct packet *pk)
{
	struct kr_msg m = { .type = KR_MSG_PING };

	pk->at += kr_wire_put_end(pk->at, &m, &a->local);
	track(pk, 0, KR_MSG_PING, 0, 0, 0);
}

u32 kr_assoc_output(struct kr_assoc *a, u8 *p, u32 size, bool is_data, u64 now)
{
	struct packet pk = { .at = p + KR_HDR_LEN };
	bool is_idle;
	u32 len;

	a->now = now;
	pk.end = p + min(size, a->mtu);
	if (a->is_ended)
		return 0;
	len = path_output(a, p, now);
	if (len || a->path != KR_PATH_READY)
		return len;
	if (kr_channel_may_send(&a->ch, true))
		pk.rec = kr_channel_begin(&a->ch);
	is_idle = kr_assoc_is_by_lanes(a);
	if (!is_idle) {
		put_replies(a, &pk);
		put_tombs(a, &pk);
		put_all_control(a, &pk);
	}
	if (!is_idle && is_data && kr_channel_may_send(&a->ch, false))
		put_all_data(a, &a->data, &pk);
	if (is_ping_needed(a, &pk) && fits(&pk, KR_END_LEN, true)) {
		put_ping(a, &pk);
		a->is_ping_due = false;
	}
	if (pk.at == p + KR_HDR_LEN && !kr_channel_is_ack_due(&a->ch, now))
		return 0;
	if (!is_idle) {
		/* What does not fit follows in the next packet. */
		list_splice_tail_init(&a->confirm, &a->control);
		put_all_control(a, &pk);
		put_news(a, &pk);
	}
	len = finish(a, p, &pk, now);
	/* News that did not fit follow in the next packet. */
	if (!is_idle && !list_empty(&a->news))
		a->ch.ack_ns = now;
	return len;
}

bool kr_assoc_has_output(const struct kr_assoc *a, u64 now)
{
	bool is_idle;

	if (a->is_ended)
		return false;
	if (a->is_path_rep_due)
		return true;
	if (a->path == KR_PATH_PROBING)
		return now >= a->path_ns && a->path_tries < KR_PATH_TRIES;
	if (a->path != KR_PATH_READY)
		return false;
	is_idle = kr_assoc_is_by_lanes(a);
	if ((a->nr_replies && !is_idle) || kr_channel_is_ack_due(&a->ch, now))
		return true;
	if (!kr_channel_may_send(&a->ch, true))
		return false;
	if (a->is_ping_due || (a->ch.probes && a->ch.inflight))
		return true;
	return !is_idle && (!list_empty(&a->control) || !list_empty(&a->tomb_control) ||
	       (!list_empty(&a->data) && kr_channel_may_send(&a->ch, false)));
}

/* May it send packets that need credit? */
static bool is_lane_usable(const struct kr_lane *l)
{
	return l->state == KR_LANE_UP && kr_lane_has_credit(l);
}

/* And in them what other carriers could take? */
static bool is_lane_wanted(const struct kr_assoc *a, const struct kr_lane *l)
{
	return !l->is_last || (kr_assoc_is_by_lanes(a) && !a->nr_bulk_up);
}

static void put_all(struct kr_assoc *a, struct packet *pk)
{
	put_replies(a, pk);
	put_tombs(a, pk);
	list_splice_tail_init(&a->confirm, &a->control);
	put_all_control(a, pk);
	/* All are in one turn. */
	list_splice_tail_init(&a->bulk, &a->data);
	put_all_data(a, &a->data, pk);
}

/*
 * Of a packet for news: for as many as KR_LANE_ACK_EVERY packets bring.  Two peers that
 * both fill theirs send no acknowledgement alone.
 */
static u32 news_room(const struct kr_assoc *a, const struct kr_lane *l)
{
	u32 len = KR_LANE_ACK_EVERY * KR_PKT_MSGS_MAX * (KR_MSG_HDR_LEN + KR_WINDOW_LEN);

	return list_empty(&a->news) ? 0 : min(len, l->size / 2);
}

/*
 * News that did not fit follow in a packet that needs credit: of acknowledgements alone
 * there is at most one for each numbered packet, and the peer has room for that many.
 */
static bool is_behind(const struct kr_assoc *a, const struct kr_lane *l)
{
	return l->is_behind && !list_empty(&a->news);
}

u32 kr_assoc_lane_output(struct kr_assoc *a, struct kr_lane *l, u8 *p, u64 now)
{
	struct packet pk = { .at = p + KR_HDR_LEN, .end = p + l->size - news_room(a, l) };
	struct kr_hdr h = { .lane = 1, .tag = a->remote_id };
	bool is_wanted = is_lane_wanted(a, l);

	a->now = now;
	if (a->is_ended || !kr_lane_is_open(l))
		return 0;
	if (is_lane_usable(l))
		pk.rec = kr_lane_begin(l);
	if (pk.rec && is_wanted && kr_assoc_is_by_lanes(a))
		put_all(a, &pk);
	if (pk.rec && is_wanted)
		put_all_data(a, &a->bulk, &pk);
	if (pk.rec && kr_assoc_is_lane_ping_due(a) && fits(&pk, KR_END_LEN, true)) {
		put_ping(a, &pk);
		a->is_lane_ping_due = false;
	}
	pk.is_numbered = pk.at != p + KR_HDR_LEN || (pk.rec && is_behind(a, l));
	if (!pk.is_numbered && !kr_lane_is_ack_due(l, now))
		return 0;
	pk.end = p + l->size;
	put_news(a, &pk);
	h.flags = kr_assoc_lane_flags(a);
	/* That word may not come through. */
	if (l->state != KR_LANE_UP)
		a->is_deaf_told = false;
	h.body_len = pk.at - p - KR_HDR_LEN;
	/* What is not bulk needs the lane as much when there is no other way. */
	if (pk.is_numbered && !l->is_last && kr_assoc_is_by_lanes(a))
		a->bulk_bytes += h.body_len;
	if (pk.is_numbered)
		h.pn = kr_lane_commit(l, pk.rec, now);
	h.ack = l->taken;
	l->told = l->taken;
	l->ack_ns = 0;
	l->is_behind = !list_empty(&a->news);
	kr_wire_put_hdr(p, &h);
	l->tx_packets++;
	l->tx_bytes += pk.at - p;
	a->stats.tx_packets++;
	a->stats.tx_bytes += h.body_len;
	return pk.at - p;
}

bool kr_assoc_lane_has_output(const struct kr_assoc *a, const struct kr_lane *l, u64 now)
{
	if (a->is_ended || !kr_lane_is_open(l))
		return false;
	if (kr_lane_is_ack_due(l, now))
		return true;
	if (!is_lane_usable(l))
		return false;
	if (is_behind(a, l) || kr_assoc_is_lane_ping_due(a))
		return true;
	if (!is_lane_wanted(a, l))
		return false;
	return !list_empty(&a->bulk) ||
	       (kr_assoc_is_by_lanes(a) &&
		(a->nr_replies || !list_empty(&a->tomb_control) || !list_empty(&a->control) ||
		 !list_empty(&a->confirm) || !list_empty(&a->data)));
}
