/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hosts that we have connections with: an association of core with its lock, timer, path
 * (device, AH) and place in the tables by our association id, by the peer's, by instance.
 */
#ifndef KRCORE_HOST_H
#define KRCORE_HOST_H

#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include "core/assoc.h"
#include "dev.h"
#include "pool.h"

/*
 * A host is held by: the tables until end_work_fn() has finished, each endpoint,
 * each peer-cache entry, each carrier from init to its end, a TCP connection that is
 * to be asked for (tcplane.c), the starved list and a flush list while it is on them,
 * the pool's work while it carries out a decision, each caller.  Its timer and its works
 * hold nothing: end_work_fn() waits for them.
 */
struct kr_host {
	refcount_t ref;
	struct rcu_head rcu;

	/* hosts_lock in host.c; the first two are read under RCU */
	struct hlist_node by_id;
	struct hlist_node by_remote;
	struct hlist_node by_instance;	/* unhashed: the host is ended */
	struct list_head node;
	u64 remote_key;			/* hosts_lock; what by_remote is found by, 0: not yet */
	u64 serial;			/* fixed, in the order of kr_host_get() */

	struct list_head starved;	/* starved_lock: waits for send slots */
	struct list_head flush;		/* of the CPU that received for it */
	struct timer_list timer;
	struct delayed_work work;	/* path events; asks about a silent peer */
	struct work_struct end_work;
	struct kr_pool_host pool;	/* pool.h */

	/* Protects all below, and every VQP of the association. */
	spinlock_t lock;
	struct kr_assoc assoc;
	struct kr_dev *dev;		/* of the path, with reference */
	struct kr_ah *ah;		/* of the path, with reference */
	bool is_dirty;			/* on a flush list */
	int end_err;			/* errno for the VQPs when ended */
	u64 timer_ns;			/* when the timer fires, ~0: not armed */
	unsigned long path_events;	/* bits of enum kr_path_event for work */
	u64 bulk_told;			/* assoc.bulk_bytes when the pool was last woken */
	struct list_head carriers;	/* struct kr_carrier, from its init to its end */
	struct {
		u64 net_id;		/* where the hello was asked; a trusted namespace */
		u8 family;		/* 0: it was not we who asked */
		u8 saddr[16];
		u8 daddr[16];
	} hello;
};

int kr_host_init(void);
/* Before kr_peer_exit(): nobody asks it any more on return.  Context: may sleep. */
void kr_host_stop(void);
void kr_host_exit(void);

/* Our random 128-bit instance id, drawn at load. */
extern u8 kr_instance[16];

/* Is this answer's instance us?  Then the peer is this host. */
bool kr_host_is_self(const u8 instance[16]);

/*
 * This host as a peer of its own (core's kr_loop_init()), with a reference.  There
 * are several, each with its lock, for connections in turn.  Context: any.
 */
struct kr_host *kr_host_self(void);

/*
 * The host with this instance, made when new; a reference is returned, or
 * NULL without memory.  Context: may sleep.
 */
struct kr_host *kr_host_get(const u8 instance[16]);
/* The same, but none is made: NULL if there is none.  Context: may hold peers_lock. */
struct kr_host *kr_host_find(const u8 instance[16]);
void kr_host_put(struct kr_host *host);

/*
 * Proves a path to the host that gave this hello answer, unless there is one
 * already.  The end comes as kr_peer_on_path().  The host is looked for in the
 * namespace @net_id from here on, which is a trusted one.  Context: may sleep.
 * Return: 0 started or ready already (*is_ready), or -errno.
 */
int kr_host_prove(struct kr_host *host, const struct kr_hello *answer,
		  u64 net_id, bool *is_ready);

/* Is the path to one of the answer's ends proven?  Context: may hold peers_lock. */
bool kr_host_has_path(struct kr_host *host, const struct kr_hello *answer);

/*
 * Another instance answers where @host was, or it asks for itself with another
 * one: the old host is gone; its connections are reset at once.
 */
void kr_host_gone(struct kr_host *host, int err);

/* The token that a PATH_REQ must carry: proof that our answer was received. */
u64 kr_host_token(const u8 instance[16]);

/* Called by dev.c. */
/* A packet of @len bytes.  Context: softirq, in a batch that ends with flush. */
void kr_host_receive(struct kr_dev *dev, const u8 *packet, u32 len);
/* The batch is over: send what it caused.  Context: softirq. */
void kr_host_flush(void);
/* Send slots are free again.  Context: softirq. */
void kr_host_tx_ready(struct kr_dev *dev);
/* A device came, or its end changed (QP rebuilt, GID): look for paths.  May sleep. */
void kr_host_dev_changed(void);
/* The device must not be used any more; all references dropped on return. May sleep. */
void kr_host_dev_gone(struct kr_dev *dev);

/* The host with this association of ours, with a reference, or NULL.  Context: any. */
struct kr_host *kr_host_find_id(u64 id);

/* Calls @fn for each host, which may sleep; a reference is held meanwhile. */
void kr_host_for_each(void (*fn)(struct kr_host *host, void *arg), void *arg);

/* Runs core's output and rearms the timer; drops the lock that the caller took. */
void kr_host_lock(struct kr_host *host) __acquires(&host->lock);
void kr_host_unlock(struct kr_host *host) __releases(&host->lock);

#endif
