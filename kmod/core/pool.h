/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Who gets one of a bounded number of RC QPs.  Every peer is served by UD; one
 * that earns it by bulk bytes gets RC QPs as well.  The pool decides and counts;
 * its owner makes and ends the QPs, in the background, and tells how it went.
 *
 * A QP occupies a place from the decision to make it until it is really gone:
 *
 *	MAKE, kr_pool_take() ---> making --kr_pool_made()---> up
 *	                            |                          | END_*, kr_pool_lost()
 *	                     kr_pool_failed()                  v
 *	                            v                        ending
 *	                          (gone) <--kr_pool_ended()----'
 *
 * A member's score is its bulk bytes, of which half are forgotten every
 * KR_POOL_HALF_NS.  Its first place is worth the score, each further one half of
 * the one before; a place worth less than earn_bytes is not asked for.  With no
 * place free the least worth is evicted for a place that is worth twice as much,
 * so that near-equals do not take turns, and the freed place is reserved for the
 * one it was freed for.  Nothing but a lowered limit ends a QP within
 * KR_POOL_HOLD_NS of the time it was made.
 *
 * When memory is short, the least recently used of those without bulk bytes for
 * KR_POOL_QUIET_NS are ended, and none is made for KR_POOL_SHORT_NS.
 *
 * The list holds the members that have a place or want one; a step walks only
 * these.  The owner calls everything under one lock, with a clock that may jump
 * ahead, and never goes back.
 */
#ifndef KRCORE_CORE_POOL_H
#define KRCORE_CORE_POOL_H

#include "env.h"
#include "limits.h"

struct kr_pool_limits {
	u32 max;			/* places in all, 0: no RC */
	u32 per_host;
	u64 earn_bytes;			/* what the first place must be worth */
	u64 idle_ns;			/* without bulk bytes for so long: ended */
};

enum kr_pool_act {
	KR_POOL_NOTHING,
	KR_POOL_MAKE,			/* a QP for the member */
	KR_POOL_END_IDLE,		/* one of its QPs that are up, any */
	KR_POOL_END_EVICTED,		/* the same, for a member of more worth */
	KR_POOL_END_LIMIT,		/* the same, a limit was lowered */
	KR_POOL_END_MEMORY,		/* the same, memory is short */
	KR_POOL_ACTS,
};

struct kr_pool {
	struct kr_pool_limits limits;	/* set by kr_pool_set_limits() */
	struct list_head members;	/* by kr_member.node: have a place or want one */
	u32 nr_taken;			/* places: making, up and ending */
	u32 nr_ending;			/* of these */
	u32 nr_reserved;		/* members with a reservation */
	u32 nr_to_reclaim;		/* to be ended, memory is short */
	u64 short_ns;			/* none is made before */
	/* ever */
	u64 nr_acts[KR_POOL_ACTS];
	u64 nr_failed;
	u64 nr_lost;
	u64 nr_refused;			/* that peers asked for */
};

/* Embedded in a remote host. */
struct kr_member {
	struct list_head node;		/* empty: no place and none wanted */
	u64 score;			/* bytes, as of scored_tick */
	u64 scored_tick;
	u64 used_ns;			/* last bulk bytes, or QP made */
	u64 made_ns;			/* last QP made, 0: none since the backoff began anew */
	u64 retry_ns;			/* no QP is asked for before */
	u64 reserved_ns;		/* a place is reserved until then, 0: none */
	u32 nr_making;
	u32 nr_up;
	u32 nr_ending;
	u32 nr_fails;			/* in a row, at most what the backoff needs */
};

void kr_pool_init(struct kr_pool *p, const struct kr_pool_limits *limits);
/* At any time; what is beyond lower ones is ended by the next steps. */
void kr_pool_set_limits(struct kr_pool *p, const struct kr_pool_limits *limits);

void kr_member_init(struct kr_member *m);
/* All its QPs are gone. */
void kr_member_clean(struct kr_pool *p, struct kr_member *m);

/* @bytes of bulk to or from the member since the last call. */
void kr_pool_note(struct kr_pool *p, struct kr_member *m, u64 bytes, u64 now);

/*
 * One thing to do, for *@m.  To be called until it is NOTHING, every time that
 * kr_pool_next_ns() says, and after any other call that changes something.
 */
enum kr_pool_act kr_pool_step(struct kr_pool *p, u64 now, struct kr_member **m);
/* When to call kr_pool_step() again if nothing happens, ~0: never. */
u64 kr_pool_next_ns(const struct kr_pool *p, u64 now);

/* The peer asks for a QP: is there a place?  If so it is taken, as by MAKE. */
bool kr_pool_take(struct kr_pool *p, struct kr_member *m, u64 now);

/* QPs that may be reclaimed, without those that are to be. */
u32 kr_pool_reclaimable(const struct kr_pool *p, u64 now);
/*
 * Memory is short: the next steps end up to @nr of these.  Returns how many it will be,
 * less those that are used before.
 */
u32 kr_pool_reclaim(struct kr_pool *p, u32 nr, u64 now);

/* How it went with one QP. */
void kr_pool_made(struct kr_pool *p, struct kr_member *m, u64 now);
/* Not made, and gone. */
void kr_pool_failed(struct kr_pool *p, struct kr_member *m, u64 now);
/* One that was up is ending unasked: it died, or the peer ended it. */
void kr_pool_lost(struct kr_pool *p, struct kr_member *m, u64 now);
/* One that was ending is gone. */
void kr_pool_ended(struct kr_pool *p, struct kr_member *m);

#endif
