/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which hosts have RC queue pairs: core/pool.h decides, rc.c makes and ends them.
 *
 * pool_lock (spinlock, BH) protects the pool and kr_host.pool.  It may be taken under a
 * host's lock; nothing is taken inside.  A host's place in the pool goes with its last
 * reference.  The shrinker takes it in reclaim, so nothing is allocated under it;
 * kr_pool_stop() unregisters the shrinker first, which waits for a scan.
 */
#ifndef KRCORE_POOL_H
#define KRCORE_POOL_H

#include "core/pool.h"

struct kr_host;

/* In each struct kr_host. */
struct kr_pool_host {
	struct kr_member member;
	u64 seen;			/* assoc.bulk_bytes when last noted; the work's alone */
	u32 nr_told;			/* QPs that were decided to end and are not gone yet */
};

/* 0 or -ENOMEM.  Context: may sleep. */
int kr_pool_start(void);
/* Nothing is asked for any more.  Once more does no harm.  Context: may sleep. */
void kr_pool_stop(void);

void kr_pool_host_init(struct kr_host *host);
/* The last reference is gone.  Context: any. */
void kr_pool_host_clean(struct kr_host *host);

/* There was bulk traffic: look at the pool soon.  Context: any. */
void kr_pool_kick(void);

/* rc.c: the peer asks for a QP; true: a place is taken for it.  Context: any. */
bool kr_pool_may_accept(struct kr_host *host);
/* A QP that was asked for or accepted is in use.  Context: any. */
void kr_pool_rc_made(struct kr_host *host);
/* And is gone, or was never made.  Context: any. */
void kr_pool_rc_gone(struct kr_host *host, bool was_made);

#endif
