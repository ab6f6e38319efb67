/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside a device: what dev.c, ud.c, sq.c and ah.c share.  Nobody else
 * includes this.
 *
 * Lock order, outermost first:
 *   devices_lock (dev.c)	mutex; the list of devices.  A leaf: nothing that
 *				sleeps on RDMA or on rtnl is called under it
 *   kr_dev.life		mutex; creating and destroying the QP and its CQ
 *   kr_dev.tx_lock		spinlock, BH; free slots and the send queue
 */
#ifndef KRCORE_UD_H
#define KRCORE_UD_H

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include "core/limits.h"
#include "dev.h"

enum {
	KR_TX_SLOTS = 384,
	KR_TX_RESERVE = 32,		/* of them, for control */
	KR_TX_READY = 64,		/* free ones, before calling for more */
	KR_TX_RING = 512,		/* power of 2, > slots and the sweep */
	KR_TX_SIGNAL_EVERY = 16,
	KR_GRH_LEN = 40,
	KR_RX_LEN = KR_GRH_LEN + KR_PKT_MAX,
	KR_RX_STRIDE = 4160,		/* KR_RX_LEN in whole cache lines */
	KR_RX_PER_CHUNK = 15,		/* chunks of 16 pages */
	KR_RX_CHUNKS = 68,
	KR_RX_BUFS = KR_RX_PER_CHUNK * KR_RX_CHUNKS,
	KR_POLL_BATCH = 16,
	KR_POLL_BUDGET = 32,
};

/* In wr_id: a send, and its number; otherwise the index of a receive buffer. */
#define KR_WR_SEND BIT_ULL(63)

struct kr_send {
	struct kr_slot_tx slot;
	struct ib_ud_wr wr;
	struct ib_sge sge;
	struct kr_ah *ah;		/* while posted */
	struct kr_send *next;		/* while free */
};

struct kr_recv {
	struct ib_recv_wr wr;
	struct ib_sge sge;
	u8 *buf;
};

struct kr_dev {
	/* immutable after create */
	struct ib_device *ibdev;
	struct ib_pd *pd;
	u32 port;
	u32 qkey;
	struct kr_send *tx;		/* KR_TX_SLOTS and one for the sweep */
	struct kr_recv *rx;		/* KR_RX_BUFS */
	void *rx_chunks[KR_RX_CHUNKS];
	struct ib_event_handler events;
	struct list_head node;		/* devices_lock (dev.c) */

	/* any context */
	refcount_t ref;
	struct completion released;
	struct work_struct refresh;	/* port and GIDs */
	struct delayed_work rebuild;	/* the QP */
	/* written under life, read by anyone: READ_ONCE() */
	bool is_dead;
	u32 qpn;			/* 0 while there is no QP */
	/* written by refresh, read by anyone: READ_ONCE() */
	bool is_active;
	u32 mtu;

	/* the QP; protected by life, fixed while is_up or polled */
	struct ib_cq *cq;
	struct ib_qp *qp;
	unsigned long rebuilt_at;	/* jiffies */
	u64 qp_rebuilt;
	struct mutex life;

	/* only the poller touches; stop reads rx_posted */
	struct tasklet_struct poll;
	struct ib_wc wc[KR_POLL_BATCH];
	u32 rx_posted;
	u64 rx_packets, rx_bytes, rx_errors;
	bool is_broken;			/* an error was seen: post no more */
	bool is_closing;		/* stop: the CQ must not be touched */

	/* protected by tx_lock; is_up also read by the poller without it */
	bool is_up;
	bool is_refused;		/* somebody got no slot */
	u32 nr_free;
	struct kr_send *free;
	u32 sq_head, sq_tail;		/* numbers of WRs: next posted, oldest posted */
	u32 sq_signalled;		/* number after the last signalled WR */
	struct kr_send *ring[KR_TX_RING];	/* posted WRs by number */
	u64 tx_packets, tx_bytes, tx_no_slot;
	struct timer_list sweep;
	spinlock_t tx_lock;
};

struct kr_ah {
	struct kr_dev *dev;		/* with reference */
	struct ib_ah *ah;
	struct work_struct destroy;
	/* protected by dev->tx_lock */
	u32 nr_posted;			/* WRs that name it */
	bool is_put;			/* by its owner */
};

/* Works of devices: rebuilding, refreshing, destroying AHs. */
extern struct workqueue_struct *kr_dev_wq;

/* ud.c */
int kr_ud_alloc(struct kr_dev *dev);
void kr_ud_free(struct kr_dev *dev);
int kr_ud_start(struct kr_dev *dev);
void kr_ud_stop(struct kr_dev *dev);
void kr_ud_fail(struct kr_dev *dev);

/* sq.c */
int kr_sq_alloc(struct kr_dev *dev);
void kr_sq_free(struct kr_dev *dev);
void kr_sq_start(struct kr_dev *dev);
void kr_sq_stop(struct kr_dev *dev);
void kr_sq_reclaim(struct kr_dev *dev);
bool kr_sq_is_empty(struct kr_dev *dev);
bool kr_sq_is_idle(struct kr_dev *dev);
void kr_sq_done(struct kr_dev *dev, u32 number);
bool kr_sq_is_wanted(struct kr_dev *dev);

/* ah.c */
void kr_ah_hold_locked(struct kr_ah *ah);
void kr_ah_drop_locked(struct kr_ah *ah);

#endif
