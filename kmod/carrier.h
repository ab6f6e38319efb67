/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What RC queue pairs (rc.c) and TCP connections (tcplane.c) have in common: the
 * lane in their host's association, and an end that happens once, in a worker.
 *
 * A carrier is owned by its end work, which frees it.  Until then others may look:
 * the list of its host (under the host's lock), the array of all (under its lock),
 * and its kind's callbacks, which kr_carrier_ops.destroy stops.  It holds its host.
 *
 *   kr_carrier_init()    not in use: of a kind that is still being set up
 *   kr_carrier_open()    its lane is in the association
 *   kr_carrier_end()     from any context, any number of times, also before open
 */
#ifndef KRCORE_CARRIER_H
#define KRCORE_CARRIER_H

#include <linux/workqueue.h>
#include "core/drive.h"

struct kr_carrier;
struct kr_dev;
struct kr_host;

/* For krcorectl: one carrier, as seen at one moment. */
struct kr_carrier_info {
	u64 host_id_prefix;		/* first 8 bytes of the instance */
	const char *kind;		/* "rc", "tcp" */
	const char *state;		/* as in uapi.h */
	char dev_name[64];		/* empty: it needs no device of ours */
	u32 local_qpn, remote_qpn;	/* rc; 0 else */
	u8 is_asked;			/* by us */
	u32 nr_vqps;			/* of the host */
	u32 credits, inflight;		/* packets */
	u64 tx_bytes, rx_bytes;
	u64 age_ms;
	u64 idle_ms;
	u64 nr_doubts;
};

struct kr_carrier_ops {
	const char *kind;
	/*
	 * The lane is closed.  Stops all callbacks and frees the carrier.
	 * Context: worker, may sleep.
	 */
	void (*destroy)(struct kr_carrier *c);
	/* Fills in what only the kind knows; may be NULL.  Context: host's lock. */
	void (*info)(const struct kr_carrier *c, struct kr_carrier_info *info);
};

struct kr_carrier {
	/* fixed after init */
	const struct kr_carrier_ops *ops;
	struct kr_host *host;		/* with reference */
	struct kr_dev *dev;		/* with reference; NULL: it needs no device of ours */
	bool is_asked;			/* by us, not by the peer */
	u64 born_ns;
	u32 serial;			/* in the array of carrier.c, from init to end */

	struct work_struct end_work;
	unsigned long flags;		/* atomic bits: carrier.c */

	/* protected by host->lock */
	struct list_head node;		/* kr_host.carriers, from init to end */
	struct kr_lane lane;
};

int kr_carriers_init(void);
/* All hosts are gone. */
void kr_carriers_exit(void);

/*
 * Takes references to @host and @dev (which may be NULL).  -ECONNRESET: the host is
 * ended, or @dev is going away; -ENOMEM.  Nothing is to be undone then.
 * Context: may sleep.
 */
int kr_carrier_init(struct kr_carrier *c, const struct kr_carrier_ops *ops,
		    struct kr_host *host, struct kr_dev *dev, bool is_asked);

/* Opens the lane: see kr_assoc_lane_open().  Context: any but hard interrupt. */
int kr_carrier_open(struct kr_carrier *c, const struct kr_offer *peer, bool is_last,
		    const struct kr_port_ops *port_ops);

/* Ends it, in a worker.  Context: any. */
void kr_carrier_end(struct kr_carrier *c);
bool kr_carrier_is_ending(const struct kr_carrier *c);

/* A packet that came by it.  Context: any but hard interrupt. */
void kr_carrier_receive(struct kr_carrier *c, const u8 *packet, u32 len);
/* It has room to send again.  Context: as above. */
void kr_carrier_tx_ready(struct kr_carrier *c);

/* kr_ops.lane_failed */
void kr_carrier_lane_failed(struct kr_assoc *a, struct kr_lane *l);

/* Ends all of a host, or those that use @dev (not NULL).  Context: any. */
void kr_carriers_end(struct kr_host *host, const struct kr_dev *dev);

/* The offer that we make to the host of @c; @size and @credits as we take. */
void kr_carrier_offer(const struct kr_carrier *c, u32 size, u16 credits,
		      struct kr_offer *o);

/* As kr_host_info_get(), over the carriers of all hosts.  Context: may sleep. */
bool kr_carrier_info_get(u64 *cursor, struct kr_carrier_info *info);

#endif
