/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A lane: a reliable and ordered carrier of an association beside its UD channel, an
 * RC queue pair or a TCP connection.  It carries the same packets, up to its own size.
 *
 * Each side counts the packets that it took and tells the other; this count is
 * acknowledgement and credit in one, so that nothing depends on what a device says of
 * a send.  What is in doubt when a lane dies goes another way: a VQP takes each byte
 * once, whatever brings it.
 *
 *   CLOSED --open--> UP <--answer-- DOUBT --stall--> FAILED --close--> CLOSED
 *                    UP ----late answer---^
 *
 * A lane that answers late is in DOUBT: what it has not answered goes another way as
 * well, long before the lane is given up.
 */
#ifndef KRCORE_CORE_LANE_H
#define KRCORE_CORE_LANE_H

#include "channel.h"

struct kr_assoc;
struct kr_port_ops;

enum kr_lane_state {
	KR_LANE_CLOSED,
	KR_LANE_UP,
	KR_LANE_DOUBT,			/* sends acknowledgements only */
	KR_LANE_FAILED,			/* its owner has been told to close it */
};

struct kr_lane {
	/* fixed while open */
	struct list_head node;		/* kr_assoc.lanes */
	u32 size;			/* bytes of a packet */
	u32 credits;			/* packets that may wait for their answer */
	bool is_last;			/* used only when there is no other way */
	const struct kr_port_ops *ops;
	void *port;

	enum kr_lane_state state;
	/* sending */
	u64 next_pn;			/* first is 1 */
	u64 acked;			/* every number up to this was taken */
	struct kr_sent *sent[KR_LANE_CREDITS_MAX];
	u64 answer_ns;			/* what answers take, a slow maximum; 0: none came */
	/* receiving */
	u64 taken;			/* number of the last packet */
	u64 told;			/* of it the peer knows */
	u64 ack_ns;			/* acknowledgement due, 0: none */
	bool is_behind;			/* the last packet had no room for all news */
	/* when anything but acknowledgements went or came */
	u64 used_ns;

	u64 tx_packets, tx_bytes, rx_packets, rx_bytes, nr_doubts;
};

/* A zeroed lane may be asked these as well. */
bool kr_lane_is_open(const struct kr_lane *l);	/* UP or in DOUBT */
bool kr_lane_has_credit(const struct kr_lane *l);
bool kr_lane_is_ack_due(const struct kr_lane *l, u64 now);

/* As kr_channel_begin(); with credit only. */
struct kr_sent *kr_lane_begin(struct kr_lane *l);
u64 kr_lane_commit(struct kr_lane *l, struct kr_sent *s, u64 now);
/* The peer took numbers up to @ack.  False: it says what cannot be. */
bool kr_lane_on_ack(struct kr_lane *l, u64 ack, u64 now, kr_sent_fn fn, void *ctx);
/* The next packet of the peer was taken. */
void kr_lane_took(struct kr_lane *l, u64 now);
/* Tells all that waits for its answer as lost, once. */
void kr_lane_lose(struct kr_lane *l, kr_sent_fn fn, void *ctx);
void kr_lane_clean(struct kr_lane *l, kr_sent_fn fn, void *ctx);

/* When the oldest packet without an answer left, 0: there is none. */
u64 kr_lane_waits_since(const struct kr_lane *l);
/* So long may an answer take before the lane is doubted. */
u64 kr_lane_doubt_ns(const struct kr_lane *l);

#endif
