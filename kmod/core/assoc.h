/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The protocol engine: our state with one remote host.  A packet goes in with
 * kr_assoc_input(), packets come out of kr_assoc_output(), time passes with
 * kr_assoc_timeout(); everything else is told through struct kr_ops.
 *
 * All calls on one association are serialised by its owner (in the kernel by a
 * lock).  Time is monotonic, in ns, never 0.
 */
#ifndef KRCORE_CORE_ASSOC_H
#define KRCORE_CORE_ASSOC_H

#include "channel.h"
#include "lane.h"
#include "table.h"
#include "vqp.h"

/* What happened to the path or the association. */
enum kr_path_event {
	KR_PATH_EV_READY,		/* proven in both directions */
	KR_PATH_EV_FAILED,		/* PATH_REQ was not answered */
	KR_PATH_EV_SILENT,		/* unanswered timeouts: ask who is there */
};

/* How core talks to its owner; called with the association serialised. */
struct kr_ops {
	/*
	 * A CONNECT for a listener: 0 and an initialised VQP in *out, which the
	 * owner holds until "released"; -EAGAIN: as if it never came (a full
	 * backlog); or a positive enum kr_reject.
	 */
	int (*incoming)(struct kr_assoc *a, const struct kr_connect *c,
			struct kr_vqp **out);
	/* Must not call back into core. */
	void (*event)(struct kr_vqp *v, u32 events);
	void (*released)(struct kr_vqp *v);
	/* Call kr_vqp_timeout() at @when (or soon after). */
	void (*arm)(struct kr_vqp *v, u64 when);
	void (*path_event)(struct kr_assoc *a, enum kr_path_event event);
	/* A PATH_REQ inside the association: make the address usable, then kr_assoc_path_req(). */
	void (*path_req)(struct kr_assoc *a, const struct kr_path_msg *pm);
	/* The lane is of no use any more: kr_assoc_lane_close() soon, not from here. */
	void (*lane_failed)(struct kr_assoc *a, struct kr_lane *l);
};

enum { KR_REPLIES_MAX = 64 };

/* An answer to a message that belongs to no VQP here. */
struct kr_reply {
	u8 type;
	u32 code;
	u64 dst;
	u64 src;
};

struct kr_assoc_stats {
	u64 tx_packets, tx_bytes, rx_packets, rx_bytes;
	u64 rx_malformed;		/* broke the format or the protocol */
	u64 rx_refused;			/* not accepted: no room or memory */
	u64 rx_unknown;			/* for a VQP that is not here */
	u64 replies_dropped;
};

struct kr_assoc {
	/* fixed */
	const struct kr_ops *ops;
	void *owner;
	u64 local_id;
	u8 local_instance[16];
	u8 peer_instance[16];

	u64 remote_id;			/* 0: not known yet */
	bool is_ended;			/* nothing goes in or out any more */
	bool is_loop;			/* of the host with itself: kr_loop_run() */
	bool is_proven;			/* the peer has used our id: it is its own */
	enum kr_path_state path;
	struct kr_end local;		/* our end of the path */
	struct kr_end remote;
	u64 token;
	u32 mtu;			/* bytes of a packet */
	u32 path_tries;
	u64 path_ns;			/* next PATH_REQ, 0: none */
	bool is_path_rep_due;
	bool is_ping_due;
	bool is_silent_told;
	u64 heard_ns;			/* last packet of the peer */
	u64 buried_ns;			/* last tombstone made */
	u64 now;			/* of the call we are in */
	bool is_by_lane;		/* what it takes came by a lane */
	struct kr_channel ch;
	struct list_head lanes;
	u32 nr_lanes;
	u32 nr_up;			/* of them are UP */
	u32 nr_bulk_up;			/* and not only the last way */
	bool is_peer_deaf;		/* it says by lanes that by UD it hears nothing */
	bool is_deaf_told;		/* what ours last said of us */
	bool is_lane_ping_due;		/* is the peer alive?  Only lanes can ask */
	u64 bulk_bytes;			/* for which lanes are worth it: the pool's */
	struct kr_table table;
	u32 nr_vqps;
	u32 nr_tombs;
	struct list_head vqps;
	struct list_head control;
	struct list_head confirm;	/* goes when another packet does */
	struct list_head data;
	struct list_head bulk;		/* as data, for lanes; empty when no such lane is up */
	struct list_head news;
	struct list_head touched;	/* by what the channel told, in this call */
	struct list_head tombs;
	struct list_head tomb_control;
	struct list_head unconfirmed[KR_PENDING_BUCKETS];
	struct kr_reply replies[KR_REPLIES_MAX];
	u32 reply_first;
	u32 nr_replies;
	struct kr_assoc_stats stats;
};

enum kr_slot_kind {
	KR_SLOT_VQP,
	KR_SLOT_TOMB,
};

void kr_assoc_init(struct kr_assoc *a, const struct kr_ops *ops, void *owner,
		   u64 local_id, const u8 local_instance[16],
		   const u8 peer_instance[16], u64 now);
/* After kr_assoc_end() and an empty kr_assoc_abort_some(). */
void kr_assoc_clean(struct kr_assoc *a);

/* Starts proving a path between two ends; @token from the hello answer. */
void kr_assoc_path_start(struct kr_assoc *a, const struct kr_end *local,
			 const struct kr_end *remote, u64 token, u64 now);
/*
 * A PATH_REQ whose address is usable now.  0: answered.  -EALREADY: it is older
 * than one that was taken, or too late for this association.  Else the peer claims
 * another association than ours.  -EEXIST: ours is asked for a sign of life over its
 * path; -ENOTCONN: it has no path, the caller asks by hello; -ESTALE: it was never
 * proven, or has no VQPs or tombstones: the caller ends it and lets the request be
 * repeated.
 */
int kr_assoc_path_req(struct kr_assoc *a, const struct kr_end *local,
		      const struct kr_path_msg *pm, u64 now);
/* A PATH_REP that came without a tag of ours is checked as strictly. */
void kr_assoc_path_rep(struct kr_assoc *a, const struct kr_path_msg *pm, u64 now);
/* The path cannot be used any more (device gone); connections wait. */
void kr_assoc_path_lost(struct kr_assoc *a, u64 now);
/* Ask the peer for a sign of life now. */
void kr_assoc_ping(struct kr_assoc *a);

/* A packet with our tag: @h as decoded from it, @body its h->body_len bytes. */
void kr_assoc_input(struct kr_assoc *a, const struct kr_hdr *h, const u8 *body,
		    u64 now);
/*
 * The next packet to send, at most @size bytes into @p; 0: nothing now.
 * @is_data: DATA may be included (else only control).
 */
u32 kr_assoc_output(struct kr_assoc *a, u8 *p, u32 size, bool is_data, u64 now);
bool kr_assoc_has_output(const struct kr_assoc *a, u64 now);

/*
 * Lanes: see lane.h.  The owner keeps a lane's memory until it has closed it, and
 * closes all before kr_assoc_clean().
 */
struct kr_lane_terms {
	u32 size;			/* bytes of a packet that the peer takes */
	u32 credits;			/* packets that it takes unanswered */
	bool is_last;			/* only when there is no other way */
	const struct kr_port_ops *ops;
	void *port;
};

/*
 * 0; -ECONNRESET: the association is ended or not proven; -EMFILE: it has enough;
 * -EINVAL: below KR_PKT_MIN bytes, or no credit.
 */
int kr_assoc_lane_open(struct kr_assoc *a, struct kr_lane *l,
		       const struct kr_lane_terms *t, u64 now);
/* Nothing comes from it any more; what it did not deliver goes another way. */
void kr_assoc_lane_close(struct kr_assoc *a, struct kr_lane *l, u64 now);
/* The next packet that came by the lane, with its header. */
void kr_assoc_lane_input(struct kr_assoc *a, struct kr_lane *l, const u8 *p, u32 len,
			 u64 now);
/* As kr_assoc_output(); @p has room for l->size bytes. */
u32 kr_assoc_lane_output(struct kr_assoc *a, struct kr_lane *l, u8 *p, u64 now);
bool kr_assoc_lane_has_output(const struct kr_assoc *a, const struct kr_lane *l, u64 now);
/* Does everything go by lanes, because the path does not work? */
bool kr_assoc_is_by_lanes(const struct kr_assoc *a);
/* Has it something to carry and no way to do it?  Then a last lane is worth opening. */
bool kr_assoc_wants_last_lane(const struct kr_assoc *a);

/* When kr_assoc_timeout() wants to be called, ~0: never. */
u64 kr_assoc_deadline(const struct kr_assoc *a);
void kr_assoc_timeout(struct kr_assoc *a, u64 now);

/*
 * The same-host carrier.  An association of this host with itself holds both ends of
 * each connection; it has no channel and no path, and what may go has gone when
 * kr_loop_run() is over, which is called where others call kr_assoc_run().
 */
void kr_loop_init(struct kr_assoc *a);	/* after kr_assoc_init() */
void kr_loop_run(struct kr_assoc *a, u64 now);

/* Nothing goes in or out any more; VQPs end by kr_assoc_abort_some(). */
void kr_assoc_end(struct kr_assoc *a);
/* Ends up to KR_ABORT_BATCH VQPs with @err; true while there are more. */
bool kr_assoc_abort_some(struct kr_assoc *a, int err, u64 now);

/* The VQP with this id, NULL: none (any more). */
struct kr_vqp *kr_assoc_find_vqp(struct kr_assoc *a, u64 id);

/*
 * Shall a timer that is armed for @armed (~0: not at all) be set to *@when?  If that is
 * sooner, or the timer is late: a clock that jumps does not take it along.
 */
bool kr_timer_moves(u64 armed, u64 *when, u64 now);

/* Inside core. */
struct list_head *kr_assoc_queue(struct kr_assoc *a, const struct kr_vqp *v);
u8 kr_assoc_lane_flags(struct kr_assoc *a);
/* Shall a lane ask for the peer, or tell it that we became deaf or hear again? */
bool kr_assoc_is_lane_ping_due(const struct kr_assoc *a);
u64 kr_assoc_lane_deadline(const struct kr_assoc *a, const struct kr_lane *l);
void kr_assoc_lanes_timeout(struct kr_assoc *a);
/* Is there anything by lanes that the peer will answer? */
bool kr_assoc_is_lane_asked(const struct kr_assoc *a);
struct kr_vqp *kr_assoc_find_unconfirmed(struct kr_assoc *a, u64 peer_id);
struct list_head *kr_assoc_bucket(struct kr_assoc *a, u64 peer_id);
void kr_assoc_reply(struct kr_assoc *a, u8 type, u64 dst, u64 src, u32 code);
void kr_assoc_sent(void *ctx, const struct kr_sent_msg *m, bool is_lost);
void kr_assoc_tick_touched(struct kr_assoc *a);
/* DATA for @v: @d->payload, or, if @from is not NULL, the sender's pages. */
void kr_assoc_take_data(struct kr_assoc *a, struct kr_vqp *v, const struct kr_data *d,
			struct kr_buf *from, bool is_fin);
void kr_assoc_take_window(struct kr_assoc *a, struct kr_vqp *v, u64 accepted, u64 edge,
			  u8 flags);
/* The messages of a packet; true when it may be acknowledged. */
bool kr_assoc_take_messages(struct kr_assoc *a, const u8 *p, const u8 *end);
/* Messages other than DATA, at most @size bytes; what was sent goes into @rec. */
u32 kr_assoc_put_control(struct kr_assoc *a, u8 *p, u32 size, struct kr_sent *rec);
void kr_tomb_send(struct kr_assoc *a, struct kr_tomb *t);
void kr_tomb_settle(struct kr_assoc *a, struct kr_tomb *t);
void kr_tomb_free(struct kr_assoc *a, struct kr_tomb *t);

#endif
