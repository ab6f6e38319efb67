/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RC queue pairs between hosts: carriers (carrier.h) that a device makes reliable, with
 * messages of 32 KiB.  rdma_cm connects them.
 *
 * The pool (pool.h) decides when one is asked for, taken or ended; what becomes of
 * each it learns by kr_pool_rc_made() and kr_pool_rc_gone().
 */
#ifndef KRCORE_RC_H
#define KRCORE_RC_H

#include <linux/types.h>

struct kr_host;

/* Without its listeners this host only asks, so this cannot fail.  May sleep. */
void kr_rc_init(void);
/* Nobody asks for new ones from here on, and those that are there end with their devices. */
void kr_rc_exit(void);

/*
 * Asks @host for an RC queue pair along the path to it.  0: it is under way, and
 * kr_pool_rc_made() or kr_pool_rc_gone() follows.  -ENETUNREACH: there is no path;
 * -EAFNOSUPPORT: its addresses are no good for rdma_cm; or another -errno.
 * Context: may sleep.
 */
int kr_rc_ask(struct kr_host *host);

/* Ends the one of @host that was idle longest; false: it has none.  Context: any. */
bool kr_rc_end_one(struct kr_host *host);

#endif
