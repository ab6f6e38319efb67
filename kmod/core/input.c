// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A packet of the peer: its acknowledgement, then its messages in order.
 *
 * A packet is acknowledged when its messages were understood.  DATA that its VQP
 * could not keep (no memory, too many gaps) is answered with WINDOW/AGAIN, which
 * makes that one sender pause and repeat: it is no sign of a bad path, and no
 * other VQP shall suffer for it.  A message for nobody is answered, never obeyed.
 */
#include "assoc.h"

/* What became of one message. */
enum verdict {
	TAKEN,
	BROKEN,				/* breaks format or protocol: stop here */
};

static enum verdict on_connect(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_connect c;
	struct kr_vqp *v;
	int ret;

	if (!kr_wire_get_connect(m, &c))
		return BROKEN;
	v = kr_assoc_find_unconfirmed(a, m->src);
	if (v) {
		kr_vqp_send(v, KR_SEND_ACCEPT);
		return TAKEN;
	}
	if (c.kind != KR_KIND_STREAM) {
		kr_assoc_reply(a, KR_MSG_REJECT, m->src, 0, KR_REJECT_KIND);
		return TAKEN;
	}
	ret = a->ops->incoming(a, &c, &v);
	if (ret > 0)
		kr_assoc_reply(a, KR_MSG_REJECT, m->src, 0, ret);
	if (ret)
		return TAKEN;
	if (kr_vqp_attach_server(a, v, m->src, &c, a->now)) {
		kr_assoc_reply(a, KR_MSG_REJECT, m->src, 0, KR_REJECT_MEMORY);
		a->ops->released(v);
	}
	return TAKEN;
}

/* The VQP that @m is for, if it is one and the sender is its peer. */
static struct kr_vqp *find_vqp(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_vqp *v = kr_assoc_find_vqp(a, m->dst);

	return v && (!v->peer_id || v->peer_id == m->src) ? v : NULL;
}

static struct kr_tomb *find_tomb(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_slot *s = kr_table_find(&a->table, m->dst);
	struct kr_tomb *t;

	if (!s || s->kind != KR_SLOT_TOMB)
		return NULL;
	t = s->obj;
	return t->peer_id == m->src ? t : NULL;
}

/* For a VQP that is not here: its tombstone answers, or RST does. */
static enum verdict on_stray(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_tomb *t = find_tomb(a, m);

	if (t) {
		kr_tomb_send(a, t);
		return TAKEN;
	}
	a->stats.rx_unknown++;
	kr_assoc_reply(a, KR_MSG_RST, m->src, m->dst, KR_RST_UNKNOWN);
	return TAKEN;
}

static enum verdict on_accept(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_vqp *v = find_vqp(a, m);

	if (!m->src)
		return BROKEN;
	if (!v || v->is_server)
		return on_stray(a, m);
	if (v->state != KR_VQP_CONNECTING) {
		kr_vqp_send(v, KR_SEND_WINDOW);
		return TAKEN;
	}
	/* Its last word overtook it. */
	if (m->src != v->gone_id)
		kr_vqp_opened(v, m->src, kr_wire_get_u64(m), a->now);
	return TAKEN;
}

static enum verdict on_reject(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_vqp *v = find_vqp(a, m);

	if (v && v->state == KR_VQP_CONNECTING)
		kr_vqp_refused(v, kr_wire_get_code(m));
	return TAKEN;
}

static enum verdict on_cancel(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_vqp *v = kr_assoc_find_unconfirmed(a, m->src);

	if (v)
		kr_vqp_abort(v, ECONNRESET, 0, a->now);
	return TAKEN;
}

/* A peer that contradicts itself loses this connection, nothing else. */
static enum verdict violate(struct kr_assoc *a, struct kr_vqp *v)
{
	a->stats.rx_malformed++;
	kr_vqp_abort(v, EPROTO, KR_RST_PROTOCOL, a->now);
	return TAKEN;
}

/* Any word of the client confirms an accepted connection. */
static void confirm(struct kr_vqp *v, u64 now)
{
	if (v->state == KR_VQP_ACCEPTING)
		kr_vqp_opened(v, v->peer_id, 0, now);
	kr_vqp_heard(v, now);
}

static bool merge(struct kr_assoc *a, struct kr_vqp *v, u64 accepted, u64 edge)
{
	u64 old_edge = v->tx.edge;
	bool is_progress;

	if (!kr_tx_merge(&v->tx, accepted, edge, &is_progress))
		return false;
	if (is_progress || v->tx.edge != old_edge) {
		v->probe_count = 0;
		v->probe_ns = 0;
		kr_vqp_pump(v);
	}
	if (is_progress) {
		v->moved_ns = a->now;
		v->give_up_ns = 0;
		a->ops->event(v, KR_EV_WRITE);
	}
	return true;
}

static void note_news(struct kr_assoc *a, struct kr_vqp *v)
{
	if (kr_rx_has_news(&v->rx) && list_empty(&v->news))
		list_add_tail(&v->news, &a->news);
}

void kr_assoc_take_data(struct kr_assoc *a, struct kr_vqp *v, const struct kr_data *d,
			struct kr_buf *from, bool is_fin)
{
	u64 before;

	confirm(v, a->now);
	if (!v->is_attached)
		return;
	if (!merge(a, v, d->accepted, d->edge)) {
		violate(a, v);
		return;
	}
	before = kr_rx_accepted(&v->rx);
	switch (from ? kr_rx_move(&v->rx, d->pos, from, d->len, is_fin) :
		       kr_rx_data(&v->rx, d->pos, d->payload, d->len, is_fin)) {
	case KR_RX_TAKEN:
		break;
	case KR_RX_DUPLICATE:
		kr_vqp_send(v, KR_SEND_WINDOW);
		break;
	case KR_RX_REFUSED:
		/* Not a loss: the sender pauses, nobody else is slowed down. */
		a->stats.rx_refused++;
		kr_vqp_send(v, KR_SEND_AGAIN);
		break;
	case KR_RX_VIOLATION:
		violate(a, v);
		return;
	case KR_RX_UNWANTED:
		kr_vqp_abort(v, ECONNRESET, KR_RST_ABORT, a->now);
		return;
	}
	note_news(a, v);
	if (kr_rx_accepted(&v->rx) != before)
		a->ops->event(v, KR_EV_READ);
	if (!kr_vqp_settle(v, false, a->now))
		kr_vqp_tick(v, a->now);
}

static enum verdict on_data(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_vqp *v = find_vqp(a, m);
	struct kr_data d;

	if (!v || v->state == KR_VQP_CONNECTING)
		return on_stray(a, m);
	kr_wire_get_data(m, &d);
	kr_assoc_take_data(a, v, &d, NULL, m->flags & KR_MF_FIN);
	return TAKEN;
}

void kr_assoc_take_window(struct kr_assoc *a, struct kr_vqp *v, u64 accepted, u64 edge,
			  u8 flags)
{
	confirm(v, a->now);
	if (!v->is_attached)
		return;
	if (!merge(a, v, accepted, edge)) {
		violate(a, v);
		return;
	}
	if (flags & KR_MF_PROBE)
		kr_vqp_send(v, KR_SEND_WINDOW);
	if (flags & KR_MF_AGAIN)
		v->is_again = true;
	if (!kr_vqp_settle(v, false, a->now))
		kr_vqp_tick(v, a->now);
}

static enum verdict on_window(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_vqp *v = find_vqp(a, m);
	u64 accepted, edge;

	if (!v || v->state == KR_VQP_CONNECTING)
		return on_stray(a, m);
	kr_wire_get_window(m, &accepted, &edge);
	kr_assoc_take_window(a, v, accepted, edge, m->flags);
	return TAKEN;
}

/*
 * The server VQP of an attempt is reset before its ACCEPT comes, if it still does.  The
 * next CONNECT makes another one, or is refused.  Of two that went so, one is remembered.
 */
static void lose_server(struct kr_vqp *v, u64 id, int err, u64 now)
{
	if (v->gone_id && v->gone_id != id)
		kr_vqp_abort(v, err, 0, now);
	else
		v->gone_id = id;
}

static enum verdict on_rst(struct kr_assoc *a, const struct kr_msg *m)
{
	u32 code = kr_wire_get_code(m);
	int err = code == KR_RST_TIMEOUT ? ETIMEDOUT : ECONNRESET;
	struct kr_tomb *t = find_tomb(a, m);
	struct kr_vqp *v = find_vqp(a, m);

	if (t)
		kr_tomb_free(a, t);
	/* Its client had taken ACCEPT: accept() returns what was connected once. */
	if (v && v->state == KR_VQP_ACCEPTING && code != KR_RST_UNKNOWN)
		confirm(v, a->now);
	if (v && v->peer_id)
		kr_vqp_abort(v, err, 0, a->now);
	else if (v)
		lose_server(v, m->src, err, a->now);
	return TAKEN;
}

static enum verdict on_closed(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_tomb *t = find_tomb(a, m);
	struct kr_vqp *v = find_vqp(a, m);

	if (t) {
		t->is_peer_done = true;
		kr_tomb_settle(a, t);
	}
	if (!v || v->state != KR_VQP_OPEN)
		return TAKEN;
	/* It says that both FINs were accepted, so we are finished too. */
	if (!merge(a, v, kr_wire_get_u64(m), 0) ||
	    !kr_vqp_settle(v, true, a->now))
		return violate(a, v);
	return TAKEN;
}

static enum verdict on_message(struct kr_assoc *a, const struct kr_msg *m)
{
	struct kr_path_msg pm;

	switch ((enum kr_msg_type)m->type) {
	case KR_MSG_PING:
		return TAKEN;
	case KR_MSG_CONNECT:
		return on_connect(a, m);
	case KR_MSG_ACCEPT:
		return on_accept(a, m);
	case KR_MSG_REJECT:
		return on_reject(a, m);
	case KR_MSG_CANCEL:
		return on_cancel(a, m);
	case KR_MSG_DATA:
		return on_data(a, m);
	case KR_MSG_WINDOW:
		return on_window(a, m);
	case KR_MSG_RST:
		return on_rst(a, m);
	case KR_MSG_CLOSED:
		return on_closed(a, m);
	case KR_MSG_PATH_REQ:
		if (a->is_by_lane || !kr_wire_get_path(m, &pm) ||
		    memcmp(pm.instance, a->peer_instance, 16))
			return BROKEN;
		a->ops->path_req(a, &pm);
		return TAKEN;
	case KR_MSG_PATH_REP:
		if (a->is_by_lane || !kr_wire_get_path(m, &pm))
			return BROKEN;
		kr_assoc_path_rep(a, &pm, a->now);
		return TAKEN;
	case KR_MSG_GONE:
		return BROKEN;		/* never comes with a tag */
	}
	return BROKEN;
}

bool kr_assoc_take_messages(struct kr_assoc *a, const u8 *p, const u8 *end)
{
	struct kr_msg m;

	while (p != end) {
		if (!kr_wire_get_msg(&p, end, &m)) {
			a->stats.rx_malformed++;
			return false;
		}
		switch (on_message(a, &m)) {
		case TAKEN:
			break;
		case BROKEN:
			a->stats.rx_malformed++;
			return false;
		}
		if (a->is_ended)
			return false;
	}
	return true;
}

/*
 * Does a message say that the peer has another association with us than we think?
 * Then the packet, although it has our tag, proves no path for this one.
 */
static bool names_another(const struct kr_assoc *a, const u8 *p, const u8 *end)
{
	struct kr_path_msg pm;
	struct kr_msg m;

	while (p != end && kr_wire_get_msg(&p, end, &m))
		if ((m.type == KR_MSG_PATH_REQ || m.type == KR_MSG_PATH_REP) &&
		    kr_wire_get_path(&m, &pm) && pm.assoc != a->remote_id)
			return true;
	return false;
}

static void path_proven(struct kr_assoc *a)
{
	a->heard_ns = a->now;
	a->is_silent_told = false;
	/* Before the peer has named its id this packet proves none. */
	a->is_proven |= a->remote_id != 0;
	if (a->path == KR_PATH_READY || !a->remote_id || !a->remote.qpn)
		return;
	a->path = KR_PATH_READY;
	a->path_ns = 0;
	a->ops->path_event(a, KR_PATH_EV_READY);
}

void kr_assoc_input(struct kr_assoc *a, const struct kr_hdr *h, const u8 *body,
		    u64 now)
{
	a->now = now;
	if (a->is_ended || a->is_loop)
		return;
	a->stats.rx_packets++;
	a->stats.rx_bytes += h->body_len;
	if (!kr_channel_on_ack(&a->ch, h, now, kr_assoc_sent, a)) {
		a->stats.rx_malformed++;
		return;
	}
	if ((a->is_proven && a->path == KR_PATH_READY) ||
	    !names_another(a, body, body + h->body_len))
		path_proven(a);
	if (h->pn && kr_channel_is_known(&a->ch, h->pn))
		kr_channel_receive(&a->ch, h->pn, true, now);
	else if (kr_assoc_take_messages(a, body, body + h->body_len) && h->pn)
		kr_channel_receive(&a->ch, h->pn, h->flags & KR_PF_ACK_NOW, now);
	kr_assoc_tick_touched(a);
}
