// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The same-host carrier: both ends of a connection are VQPs of one association.
 *
 * Control messages are built and taken at once, as they are on the wire, so that
 * states and their checks are those of any connection.  Stream bytes go from the
 * sender's pages to the receiver's, and what the receiver then accepts and has room
 * for is told without a message.
 */
#include "assoc.h"

enum { CONTROL_MAX = 256 };		/* bytes built at a time, at least one CONNECT */

void kr_loop_init(struct kr_assoc *a)
{
	a->is_loop = true;
	a->remote_id = a->local_id;
	a->is_proven = true;
	a->path = KR_PATH_READY;
	a->mtu = KR_PKT_MAX;
}

static bool has_control(const struct kr_assoc *a)
{
	return a->nr_replies || !list_empty(&a->control) || !list_empty(&a->confirm) ||
	       !list_empty(&a->tomb_control);
}

static void talk(struct kr_assoc *a)
{
	struct kr_sent rec = { 0 };
	u8 bytes[CONTROL_MAX];
	u32 len = kr_assoc_put_control(a, bytes, sizeof(bytes), &rec);
	bool is_taken;
	u32 i;

	is_taken = kr_assoc_take_messages(a, bytes, bytes + len);
	KR_ASSERT(is_taken);
	for (i = 0; i < rec.nr_msgs; i++)
		kr_assoc_sent(a, &rec.msgs[i], false);
}

/* The other end; NULL: it is gone. */
static struct kr_vqp *find_mate(struct kr_assoc *a, const struct kr_vqp *v)
{
	struct kr_vqp *mate = kr_assoc_find_vqp(a, v->peer_id);

	return mate && mate->peer_id == v->id ? mate : NULL;
}

/* What the mate's answer would say. */
static void heed(struct kr_assoc *a, struct kr_vqp *v, struct kr_vqp *mate)
{
	kr_rx_tell(&mate->rx);
	list_del_init(&mate->news);
	kr_assoc_take_window(a, v, kr_rx_accepted(&mate->rx), kr_rx_edge(&mate->rx), 0);
}

static void move_data(struct kr_assoc *a, struct kr_vqp *v)
{
	struct kr_vqp *mate = find_mate(a, v);
	struct kr_tx_piece piece;
	struct kr_data d = { 0 };

	list_del_init(&v->data);
	if (!mate) {
		kr_vqp_abort(v, ECONNRESET, 0, a->now);
		return;
	}
	/* The mate had no memory: in order, all waits until it is tried again. */
	if (v->is_again || !kr_tx_take(&v->tx, ~0u, v->cork, &piece)) {
		kr_vqp_tick(v, a->now);
		return;
	}
	d.pos = piece.pos;
	d.len = piece.len;
	d.accepted = kr_rx_accepted(&v->rx);
	d.edge = kr_rx_edge(&v->rx);
	kr_rx_tell(&v->rx);
	list_del_init(&v->news);
	kr_assoc_take_data(a, mate, &d, &v->tx.buf, piece.is_fin);
	kr_tx_delivered(&v->tx);
	kr_vqp_pump(v);
	/* It may have ended with this; then its last word follows. */
	mate = find_mate(a, v);
	if (mate)
		heed(a, v, mate);
}

void kr_loop_run(struct kr_assoc *a, u64 now)
{
	a->now = now;
	while (!a->is_ended) {
		if (has_control(a))
			talk(a);
		else if (!list_empty(&a->data))
			move_data(a, list_first_entry(&a->data, struct kr_vqp, data));
		else
			break;
	}
}
