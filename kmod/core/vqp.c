// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What users and time do to a VQP, and how it ends: see vqp.h. */
#include "assoc.h"

#define KR_NEVER (~0ull)

enum {
	KR_PROBE_BACKOFF_MAX = 16,
	KR_UNCONFIRMED_S = 5,
};

static void set_state(struct kr_vqp *v, enum kr_vqp_state to)
{
	KR_ASSERT(kr_vqp_state_may(v->state, to));
	v->state = to;
}

void kr_vqp_init(struct kr_vqp *v, u8 kind, u32 tx_limit, u32 rx_limit,
		 void *owner)
{
	memset(v, 0, sizeof(*v));
	v->kind = kind;
	v->timer_ns = KR_NEVER;
	v->opts.orphan_ns = 60 * KR_SEC;
	INIT_LIST_HEAD(&v->node);
	INIT_LIST_HEAD(&v->control);
	INIT_LIST_HEAD(&v->data);
	INIT_LIST_HEAD(&v->news);
	INIT_LIST_HEAD(&v->unconfirmed);
	INIT_LIST_HEAD(&v->touched);
	kr_tx_init(&v->tx, tx_limit, owner);
	kr_rx_init(&v->rx, rx_limit, owner);
}

void kr_vqp_clean(struct kr_vqp *v)
{
	KR_ASSERT(!v->is_attached);
	kr_tx_clean(&v->tx);
	kr_rx_clean(&v->rx);
	kr_env_free(v->tomb);
	v->tomb = NULL;
}

/* Puts @item on @list unless it is on it already. */
static void enlist(struct list_head *item, struct list_head *list)
{
	if (list_empty(item))
		list_add_tail(item, list);
}

void kr_vqp_send(struct kr_vqp *v, u32 pending)
{
	if (!v->is_attached)
		return;
	/* It may be in no hurry so far: kr_assoc.confirm. */
	if (!(v->pending & ~KR_SEND_CONFIRM))
		list_move_tail(&v->control, &v->assoc->control);
	v->pending |= pending;
}

void kr_vqp_confirm(struct kr_vqp *v)
{
	if (v->pending)
		return;
	v->pending = KR_SEND_CONFIRM;
	list_move_tail(&v->control, &v->assoc->confirm);
}

bool kr_vqp_hurry(struct kr_vqp *v)
{
	if (v->pending != KR_SEND_CONFIRM)
		return false;
	kr_vqp_send(v, KR_SEND_WINDOW);
	return true;
}

/* DATA that may go now makes the VQP wait for its turn. */
void kr_vqp_pump(struct kr_vqp *v)
{
	if (v->is_attached && v->state == KR_VQP_OPEN &&
	    kr_tx_is_sendable(&v->tx, v->cork))
		enlist(&v->data, kr_assoc_queue(v->assoc, v));
}

static int attach(struct kr_assoc *a, struct kr_vqp *v)
{
	v->tomb = kr_env_alloc(sizeof(*v->tomb));
	if (!v->tomb)
		return -ENOMEM;
	v->id = kr_table_add(&a->table, v, KR_SLOT_VQP);
	if (!v->id) {
		kr_env_free(v->tomb);
		v->tomb = NULL;
		return -ENOMEM;
	}
	v->assoc = a;
	v->is_attached = true;
	list_add_tail(&v->node, &a->vqps);
	a->nr_vqps++;
	/* Somebody cares (again) whether the peer is there. */
	a->is_silent_told = false;
	return 0;
}

/* Leaves the association; the tombstone (if @t) takes over the id. */
static void detach(struct kr_vqp *v, struct kr_tomb *t)
{
	struct kr_assoc *a = v->assoc;

	v->is_attached = false;
	v->pending = 0;
	list_del_init(&v->node);
	list_del_init(&v->control);
	list_del_init(&v->data);
	list_del_init(&v->news);
	list_del_init(&v->unconfirmed);
	list_del_init(&v->touched);
	a->nr_vqps--;
	if (t) {
		struct kr_slot *s = kr_table_find(&a->table, v->id);

		s->obj = t;
		s->kind = KR_SLOT_TOMB;
	} else {
		kr_table_del(&a->table, v->id);
	}
	/* A writer that fills pages right now has them freed with the VQP. */
	if (!v->tx.is_held)
		kr_tx_clean(&v->tx);
}

/* The VQP's tombstone, which has @code still to be delivered. */
static struct kr_tomb *bury(struct kr_vqp *v, u32 code, bool is_peer_done)
{
	struct kr_assoc *a = v->assoc;
	struct kr_tomb *t = v->tomb;

	v->tomb = NULL;
	t->id = v->id;
	t->peer_id = v->peer_id;
	t->accepted = kr_rx_accepted(&v->rx);
	t->code = code;
	t->is_peer_done = is_peer_done || code;
	INIT_LIST_HEAD(&t->control);
	list_add_tail(&t->node, &a->tombs);
	a->nr_tombs++;
	a->buried_ns = a->now;
	kr_tomb_send(a, t);
	return t;
}

static void end(struct kr_vqp *v, struct kr_tomb *t)
{
	struct kr_assoc *a = v->assoc;

	detach(v, t);
	if (a->nr_tombs > KR_TOMBS_MAX)
		kr_tomb_free(a, list_first_entry(&a->tombs, struct kr_tomb, node));
	a->ops->event(v, KR_EV_END);
	a->ops->released(v);
}

void kr_vqp_abort(struct kr_vqp *v, int err, u32 code, u64 now)
{
	struct kr_tomb *t = NULL;

	if (!v->is_attached)
		return;
	v->err = err;
	/* Before ACCEPT there is no peer VQP to reset: the attempt is cancelled. */
	if (code && v->state == KR_VQP_CONNECTING)
		kr_assoc_reply(v->assoc, KR_MSG_CANCEL, 0, v->id, 0);
	else if (code && !v->assoc->is_ended)
		t = bury(v, code, false);
	set_state(v, KR_VQP_ABORTED);
	end(v, t);
}

/* Both directions are finished: nothing is left but to say so. */
bool kr_vqp_settle(struct kr_vqp *v, bool is_peer_done, u64 now)
{
	if (v->state != KR_VQP_OPEN || !v->tx.is_fin_accepted ||
	    !kr_rx_is_fin(&v->rx))
		return false;
	set_state(v, KR_VQP_CLOSED);
	end(v, bury(v, 0, is_peer_done));
	return true;
}

void kr_vqp_refused(struct kr_vqp *v, u32 refusal)
{
	struct kr_assoc *a = v->assoc;

	v->refusal = refusal;
	set_state(v, KR_VQP_REFUSED);
	detach(v, NULL);
	a->ops->event(v, KR_EV_REFUSED);
	a->ops->released(v);
}

int kr_vqp_connect(struct kr_assoc *a, struct kr_vqp *v, u64 give_up_ns, u64 now)
{
	int err;

	if (a->is_ended)
		return -ECONNRESET;
	err = attach(a, v);
	if (err)
		return err;
	set_state(v, KR_VQP_CONNECTING);
	v->give_up_ns = give_up_ns;
	v->retry_ns = now + KR_CONNECT_RETRY_NS;
	kr_vqp_send(v, KR_SEND_CONNECT);
	kr_vqp_tick(v, now);
	return 0;
}

int kr_vqp_attach_server(struct kr_assoc *a, struct kr_vqp *v, u64 peer_id,
			 const struct kr_connect *c, u64 now)
{
	int err = attach(a, v);

	if (err)
		return err;
	v->is_server = true;
	v->peer_id = peer_id;
	v->tuple = c->tuple;
	v->tx.edge = c->edge;
	set_state(v, KR_VQP_ACCEPTING);
	list_add_tail(&v->unconfirmed, kr_assoc_bucket(a, peer_id));
	v->give_up_ns = now + KR_UNCONFIRMED_S * KR_SEC;
	kr_vqp_send(v, KR_SEND_ACCEPT);
	kr_vqp_tick(v, now);
	return 0;
}

void kr_vqp_opened(struct kr_vqp *v, u64 peer_id, u64 edge, u64 now)
{
	v->peer_id = peer_id;
	v->tx.edge = max(v->tx.edge, edge);
	v->retry_ns = 0;
	v->give_up_ns = 0;
	v->pending &= ~(KR_SEND_CONNECT | KR_SEND_ACCEPT);
	list_del_init(&v->unconfirmed);
	set_state(v, KR_VQP_OPEN);
	kr_vqp_heard(v, now);
	kr_vqp_pump(v);
	/* The user may have bytes at hand that do as a confirmation. */
	if (!v->is_server)
		kr_vqp_confirm(v);
	v->assoc->ops->event(v, KR_EV_OPEN | KR_EV_WRITE);
}

void kr_vqp_heard(struct kr_vqp *v, u64 now)
{
	v->alive_ns = now;
	v->keep_count = 0;
}

/* Something is about to wait for the peer. */
static void note_waiting(struct kr_vqp *v, u64 now)
{
	if (kr_tx_has_unaccepted(&v->tx))
		return;
	v->alive_ns = now;
	v->moved_ns = now;
}

void kr_vqp_wrote(struct kr_vqp *v, u32 len, u32 cork, u64 now)
{
	note_waiting(v, now);
	v->tx.end += len;
	v->cork = cork;
	kr_vqp_pump(v);
	kr_vqp_tick(v, now);
}

bool kr_vqp_consumed(struct kr_vqp *v, u32 len, u64 now)
{
	kr_rx_consume(&v->rx, len);
	if (kr_rx_is_trimmable(&v->rx))
		kr_vqp_tick(v, now);
	if (v->state != KR_VQP_OPEN || !kr_rx_is_edge_due(&v->rx))
		return false;
	kr_vqp_send(v, KR_SEND_WINDOW);
	return true;
}

void kr_vqp_shutdown(struct kr_vqp *v, u64 now)
{
	if (v->tx.is_fin)
		return;
	note_waiting(v, now);
	v->tx.is_fin = true;
	v->cork = 0;
	kr_vqp_pump(v);
	if (v->is_attached)
		kr_vqp_tick(v, now);
}

void kr_vqp_close(struct kr_vqp *v, u64 now)
{
	v->is_orphan = true;
	if (!v->is_attached)
		return;
	if (v->state != KR_VQP_OPEN || kr_rx_ready(&v->rx) || v->rx.ooo.nr) {
		kr_vqp_abort(v, ECONNRESET, KR_RST_ABORT, now);
		return;
	}
	v->rx.is_discard = true;
	kr_vqp_shutdown(v, now);
	kr_vqp_tick(v, now);
}

void kr_vqp_set_opts(struct kr_vqp *v, const struct kr_vqp_opts *opts, u64 now)
{
	if (!v->opts.keep_idle_ns && opts->keep_idle_ns)
		v->alive_ns = max(v->alive_ns, now);
	v->opts = *opts;
	if (v->is_attached)
		kr_vqp_tick(v, now);
}

/* Data waits for the peer although no carrier holds it: ask. */
static bool needs_probe(const struct kr_vqp *v)
{
	return v->state == KR_VQP_OPEN && kr_tx_has_unaccepted(&v->tx) &&
	       !v->tx.inflight && list_empty(&v->data);
}

static u64 probe_wait_ns(const struct kr_vqp *v)
{
	u64 wait = max_t(u64, 2 * kr_channel_pto_ns(&v->assoc->ch), KR_PROBE_MIN_NS);

	/* Bytes held back by a cork go out after a fixed time. */
	if (v->cork && v->tx.next < min(v->tx.end, v->tx.edge))
		return KR_CORK_NS;
	wait <<= min_t(u32, v->probe_count, KR_PROBE_BACKOFF_MAX);
	/* A receiver says when it has room, but not when it has memory again. */
	return min_t(u64, wait, v->is_again ? KR_AGAIN_MAX_NS : KR_PROBE_MAX_NS);
}

static bool is_trimmable(const struct kr_vqp *v)
{
	return kr_tx_is_trimmable(&v->tx) || kr_rx_is_trimmable(&v->rx);
}

/* Buffers stay with a VQP in use, so that small messages do not pay for pages. */
static void trim(struct kr_vqp *v)
{
	if (kr_tx_is_trimmable(&v->tx))
		kr_buf_clean(&v->tx.buf);
	if (kr_rx_is_trimmable(&v->rx))
		kr_buf_clean(&v->rx.buf);
}

/*
 * When unaccepted data has waited long enough.  As for TCP: who sets a time has it for
 * a peer that answers but takes nothing, too; else a peer that answers is alive.
 */
static u64 patience_ends(const struct kr_vqp *v)
{
	return v->opts.user_timeout_ns ? v->moved_ns + v->opts.user_timeout_ns :
					 v->alive_ns + KR_SILENCE_NS;
}

static u64 deadline(const struct kr_vqp *v)
{
	u64 when = KR_NEVER;

	if (v->give_up_ns)
		when = v->give_up_ns;
	if (v->retry_ns)
		when = min(when, v->retry_ns);
	if (v->probe_ns)
		when = min(when, v->probe_ns);
	if (is_trimmable(v))
		when = min(when, v->alive_ns + KR_TRIM_NS);
	if (v->state != KR_VQP_OPEN)
		return when;
	if (kr_tx_has_unaccepted(&v->tx))
		when = min(when, patience_ends(v));
	if (v->opts.keep_idle_ns)
		when = min(when, v->alive_ns + v->opts.keep_idle_ns +
				 v->keep_count * v->opts.keep_intvl_ns);
	return when;
}

/* Computes what the VQP waits for and has the timer set when that is sooner. */
void kr_vqp_tick(struct kr_vqp *v, u64 now)
{
	u64 when;

	if (!v->is_attached)
		return;
	if (!needs_probe(v)) {
		v->probe_ns = 0;
	} else if (!v->probe_ns) {
		v->probe_ns = now + probe_wait_ns(v);
	}
	/*
	 * Nobody waits for an orphan: it has a while for its bytes, as long as
	 * they move, and then a while for the peer's FIN.
	 */
	if (v->is_orphan && !v->give_up_ns)
		v->give_up_ns = now + (v->tx.is_fin_accepted ? v->opts.orphan_ns :
				       max_t(u64, 2 * v->opts.orphan_ns, KR_ORPHAN_DATA_NS));
	when = deadline(v);
	if (!kr_timer_moves(v->timer_ns, &when, now))
		return;
	v->timer_ns = when;
	v->assoc->ops->arm(v, when);
}

/* True when the VQP ended. */
static bool check_alive(struct kr_vqp *v, u64 now)
{
	const struct kr_vqp_opts *o = &v->opts;
	bool has_unaccepted = kr_tx_has_unaccepted(&v->tx);
	bool is_enough;

	if (v->state != KR_VQP_OPEN)
		return false;
	if (has_unaccepted && now >= patience_ends(v)) {
		kr_vqp_abort(v, ETIMEDOUT, KR_RST_TIMEOUT, now);
		return true;
	}
	if (!o->keep_idle_ns ||
	    now < v->alive_ns + o->keep_idle_ns + v->keep_count * o->keep_intvl_ns)
		return false;
	/* As for TCP, the user's time stands for the number of probes. */
	is_enough = o->user_timeout_ns ?
		    v->keep_count && now >= v->alive_ns + o->user_timeout_ns :
		    v->keep_count >= o->keep_cnt;
	if (is_enough && !has_unaccepted) {
		kr_vqp_abort(v, ETIMEDOUT, KR_RST_TIMEOUT, now);
		return true;
	}
	v->keep_count++;
	kr_vqp_send(v, KR_SEND_PROBE);
	return false;
}

static void give_up(struct kr_vqp *v, u64 now)
{
	if (v->state == KR_VQP_CONNECTING) {
		kr_assoc_reply(v->assoc, KR_MSG_CANCEL, 0, v->id, 0);
		kr_vqp_refused(v, KR_REFUSAL_TIMEOUT);
	} else if (v->tx.is_fin_accepted) {
		/* The peer may read in peace what it has. */
		kr_vqp_abort(v, ETIMEDOUT, 0, now);
	} else {
		kr_vqp_abort(v, ETIMEDOUT, KR_RST_TIMEOUT, now);
	}
}

void kr_vqp_timeout(struct kr_vqp *v, u64 now)
{
	if (!v->is_attached)
		return;
	v->timer_ns = KR_NEVER;
	if (v->give_up_ns && now >= v->give_up_ns) {
		give_up(v, now);
		return;
	}
	if (check_alive(v, now))
		return;
	if (now >= v->alive_ns + KR_TRIM_NS)
		trim(v);
	if (v->retry_ns && now >= v->retry_ns) {
		v->connect_count++;
		v->retry_ns = now + (KR_CONNECT_RETRY_NS << min_t(u32, v->connect_count, 8));
		kr_vqp_send(v, KR_SEND_CONNECT);
	}
	if (v->probe_ns && now >= v->probe_ns) {
		if (v->is_again) {
			v->is_again = false;
			kr_tx_again(&v->tx);
			kr_vqp_pump(v);
		} else if (v->cork) {
			v->cork = 0;
			kr_vqp_pump(v);
		} else {
			kr_vqp_send(v, KR_SEND_PROBE);
		}
		v->probe_count++;
		v->probe_ns = needs_probe(v) ? now + probe_wait_ns(v) : 0;
	}
	kr_vqp_tick(v, now);
}
