/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A virtual queue pair inside its association.
 *
 * The caller embeds struct kr_vqp, keeps it alive from kr_vqp_connect() (or from
 * kr_ops.incoming) until kr_ops.released, and holds the association's lock
 * around every call that takes an attached VQP.  After "released" core never
 * looks at the VQP again; the user may still read what was accepted.
 *
 * A VQP that is finished leaves a tombstone in the association, which answers
 * for it until the peer is finished too.
 */
#ifndef KRCORE_CORE_VQP_H
#define KRCORE_CORE_VQP_H

#include "state.h"
#include "stream.h"
#include "wire.h"

struct kr_assoc;

/* Messages other than DATA that a VQP has to send. */
enum {
	KR_SEND_CONNECT = 0x01,
	KR_SEND_ACCEPT = 0x02,
	KR_SEND_WINDOW = 0x04,		/* now, numbered */
	KR_SEND_PROBE = 0x08,		/* WINDOW that asks for one */
	KR_SEND_AGAIN = 0x10,		/* WINDOW: DATA was not kept */
	KR_SEND_CONFIRM = 0x20,		/* WINDOW with the next packet, unless DATA is */
};

/* What happened to a VQP, for its user. */
enum {
	KR_EV_OPEN = 0x01,		/* connected, or confirmed by the client */
	KR_EV_REFUSED = 0x02,		/* use TCP; refusal says why */
	KR_EV_READ = 0x04,		/* bytes or the FIN were accepted */
	KR_EV_WRITE = 0x08,		/* room in the send buffer */
	KR_EV_END = 0x10,		/* CLOSED or ABORTED; err says why */
};

enum { KR_REFUSAL_TIMEOUT = 0x100 };	/* beside enum kr_reject */

struct kr_vqp_opts {
	u64 user_timeout_ns;		/* data waits this long: end; 0: KR_SILENCE_NS without a word */
	u64 keep_idle_ns;		/* 0: no keepalive */
	u64 keep_intvl_ns;
	u32 keep_cnt;
	u64 orphan_ns;			/* closed by the user: wait for the peer */
};

struct kr_vqp {
	/* fixed once attached */
	u64 id;
	struct kr_assoc *assoc;
	struct kr_tuple tuple;		/* as the client dialled */
	u64 cookie;			/* client: of the server's namespace */
	u8 kind;			/* enum kr_conn_kind */
	bool is_server;

	/* protected by the association's lock */
	u64 peer_id;			/* 0: not known yet */
	u64 gone_id;			/* connecting: a server VQP that was reset, 0: none */
	enum kr_vqp_state state;
	bool is_attached;		/* has an id in the association */
	bool is_orphan;			/* the user is gone */
	bool is_again;			/* the peer did not keep DATA */
	int err;			/* positive errno of an ABORTED one */
	u32 refusal;			/* enum kr_reject or KR_REFUSAL_TIMEOUT */
	u32 pending;			/* KR_SEND_... */
	u32 cork;			/* bytes a piece must have, 0: any */
	u32 probe_count;		/* backoff of window probes */
	u32 keep_count;			/* unanswered keepalive probes */
	u32 connect_count;
	struct kr_vqp_opts opts;
	struct kr_tx tx;
	struct kr_rx rx;
	u64 alive_ns;			/* last word from the peer, or first need of one */
	u64 moved_ns;			/* the oldest unaccepted byte waits since */
	u64 probe_ns;			/* next window probe, 0: none */
	u64 retry_ns;			/* next CONNECT, 0: none */
	u64 give_up_ns;			/* connecting, unconfirmed or orphan: end */
	u64 timer_ns;			/* armed with kr_ops.arm, ~0: not */
	struct kr_tomb *tomb;		/* ready for the end */
	struct list_head node;		/* kr_assoc.vqps */
	/* kr_assoc.control: pending is not 0; .confirm: is KR_SEND_CONFIRM only */
	struct list_head control;
	struct list_head data;		/* kr_assoc.data: may have DATA to send */
	struct list_head news;		/* kr_assoc.news: accepted not told yet */
	struct list_head unconfirmed;	/* kr_assoc.unconfirmed bucket */
	struct list_head touched;	/* kr_assoc.touched: its timer is looked at */
};

/* What answers for a VQP that is finished. */
struct kr_tomb {
	u64 id;
	u64 peer_id;
	u64 accepted;			/* of the peer's stream, with its FIN */
	u32 code;			/* 0: CLOSED, else enum kr_rst */
	bool is_delivered;		/* the peer has our last word */
	bool is_peer_done;		/* and we have the peer's */
	struct list_head node;		/* kr_assoc.tombs, oldest first */
	struct list_head control;	/* kr_assoc.tomb_control: to be sent */
};

void kr_vqp_init(struct kr_vqp *v, u8 kind, u32 tx_limit, u32 rx_limit,
		 void *owner);
/* Not attached any more (or never): gives all memory back. */
void kr_vqp_clean(struct kr_vqp *v);

/*
 * Client: attaches the VQP and sends CONNECT; tuple, cookie and opts are set by
 * the caller.  The answer comes as KR_EV_OPEN, REFUSED or END; without one by
 * @give_up_ns the attempt is cancelled and ends as REFUSED by timeout.
 * 0 or -ENOMEM (nothing happened then).
 */
int kr_vqp_connect(struct kr_assoc *a, struct kr_vqp *v, u64 give_up_ns, u64 now);

/* Server: called by core for a CONNECT that kr_ops.incoming accepted. */
int kr_vqp_attach_server(struct kr_assoc *a, struct kr_vqp *v, u64 peer_id,
			 const struct kr_connect *c, u64 now);

/* The user put @len bytes at tx.end.  @cork: as in struct kr_vqp. */
void kr_vqp_wrote(struct kr_vqp *v, u32 len, u32 cork, u64 now);
/* The user took @len bytes from rx.read.  True: there is output now. */
bool kr_vqp_consumed(struct kr_vqp *v, u32 len, u64 now);
/* No more bytes will be written. */
void kr_vqp_shutdown(struct kr_vqp *v, u64 now);
/*
 * The user is gone: accepted bytes that nobody read, or bytes that still
 * come, reset the connection; else it ends when the peer is finished.
 */
void kr_vqp_close(struct kr_vqp *v, u64 now);
/* Ends at once with @err; @code: the RST to send, 0: none. */
void kr_vqp_abort(struct kr_vqp *v, int err, u32 code, u64 now);
/*
 * The user waits for the peer: a confirmation that was to go with the user's
 * first bytes goes now.  True: there is output now.
 */
bool kr_vqp_hurry(struct kr_vqp *v);
/* opts changed. */
void kr_vqp_set_opts(struct kr_vqp *v, const struct kr_vqp_opts *opts, u64 now);
/* The time asked for with kr_ops.arm has come. */
void kr_vqp_timeout(struct kr_vqp *v, u64 now);

/* Inside core. */
void kr_vqp_opened(struct kr_vqp *v, u64 peer_id, u64 edge, u64 now);
void kr_vqp_refused(struct kr_vqp *v, u32 refusal);
void kr_vqp_heard(struct kr_vqp *v, u64 now);
void kr_vqp_send(struct kr_vqp *v, u32 pending);
/* The peer waits for a word of ours, but DATA of the user may carry it soon. */
void kr_vqp_confirm(struct kr_vqp *v);
void kr_vqp_pump(struct kr_vqp *v);
/* True when the VQP ended (and may be freed by now). */
bool kr_vqp_settle(struct kr_vqp *v, bool is_peer_done, u64 now);
void kr_vqp_tick(struct kr_vqp *v, u64 now);

#endif
