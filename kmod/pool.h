/* SPDX-License-Identifier: GPL-2.0 */
/* Which hosts have RC queue pairs, and how many.  TEMPORARY: see pool.c. */
#ifndef KRCORE_POOL_H
#define KRCORE_POOL_H

#include <linux/types.h>

struct kr_host;

int kr_pool_init(void);
void kr_pool_exit(void);

/* Something was sent.  Context: host's lock. */
void kr_pool_look(struct kr_host *host);

/* @host, which has proven itself, asks for an RC queue pair.  Context: may sleep. */
bool kr_pool_may_accept(struct kr_host *host);
/* One is in use, whoever asked.  Context: any but hard interrupt. */
void kr_pool_rc_made(struct kr_host *host);
/* One never came into use.  Context: may sleep. */
void kr_pool_rc_failed(struct kr_host *host, bool is_asked);
/* One that was in use is gone.  Context: may sleep. */
void kr_pool_rc_ended(struct kr_host *host);

#endif
