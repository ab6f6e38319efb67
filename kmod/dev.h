/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One port of an RDMA device: PD, CQs, the UD QP, its receive buffers and its
 * send slots; coming and going with the device (ib_client).
 *
 * A device is held by: the list of devices until removal, each path (struct
 * kr_host), each AH, each send slot that is out.  The remove callback makes the
 * device unusable, tells host.c, and waits until all of these are dropped.
 */
#ifndef KRCORE_DEV_H
#define KRCORE_DEV_H

#include <rdma/ib_verbs.h>
#include "core/wire.h"

struct kr_dev;

/* An address handle for one (local end, remote GID); made and destroyed sleeping. */
struct kr_ah;

/* A DMA-mapped buffer for one packet.  KR_PKT_MAX bytes at buf. */
struct kr_slot_tx {
	u8 *buf;
	/* the rest is dev.c's */
};

int kr_dev_init(void);
void kr_dev_exit(void);

/*
 * The ends (GID, QPN, qkey, MTU) where this host can be reached, at most @max.
 * Context: any that may sleep.  Return: their number.
 */
int kr_dev_ends(struct kr_end *ends, int max);

/*
 * The device and our end from which @remote can be reached: one of the same
 * GID family, the same subnet where there is a choice.  A reference is
 * returned, or NULL.  Context: may sleep.
 */
struct kr_dev *kr_dev_get_for(const struct kr_end *remote, struct kr_end *local);
/* The device of that port, with a reference, or NULL.  Context: may sleep. */
struct kr_dev *kr_dev_find(const struct ib_device *ibdev, u32 port);
/* A reference for somebody who knows that it exists; false: it is being removed. */
bool kr_dev_try_get(struct kr_dev *dev);
void kr_dev_put(struct kr_dev *dev);
/* It is being removed: kr_host_dev_gone() comes after this.  Context: any. */
bool kr_dev_is_dead(const struct kr_dev *dev);
struct ib_pd *kr_dev_pd(const struct kr_dev *dev);
const char *kr_dev_name(const struct kr_dev *dev);

/* Context: may sleep (resolves the neighbour).  ERR_PTR on failure. */
struct kr_ah *kr_dev_ah_create(struct kr_dev *dev, const struct kr_end *local,
			       const struct kr_end *remote);
/* Context: any; the AH is destroyed by a worker once sends using it are done. */
void kr_dev_ah_put(struct kr_ah *ah);

/*
 * A free send slot, or NULL when there is none (then kr_host_tx_ready() is called
 * once some are free) or the device is going away.  @is_control may use the
 * reserve.  Context: BH disabled.
 */
struct kr_slot_tx *kr_dev_slot_get(struct kr_dev *dev, bool is_control);
void kr_dev_slot_put(struct kr_dev *dev, struct kr_slot_tx *slot);
/*
 * Sends @len bytes of the slot; takes the slot over in any case.  Signalled often
 * enough that the send queue never overflows.  Context: BH disabled.
 */
void kr_dev_post(struct kr_dev *dev, struct kr_slot_tx *slot, u32 len,
		 struct kr_ah *ah, u32 qpn, u32 qkey);

/*
 * Tasklets that were scheduled anywhere have run on return: those of Soft-RoCE look at
 * a CQ that is about to be freed.  Context: may sleep.
 */
void kr_softirq_barrier(void);

struct kr_dev_stats {
	char name[64];
	u32 qpn;
	u32 mtu;
	u64 tx_packets, rx_packets, tx_bytes, rx_bytes;
	u64 tx_no_slot, rx_errors, qp_rebuilt;
};

/* The @index-th device; false when there is none.  Context: may sleep. */
bool kr_dev_stats_get(int index, struct kr_dev_stats *stats);

#endif
