/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Every bound of the protocol engine, on one page. */
#ifndef KRCORE_CORE_LIMITS_H
#define KRCORE_CORE_LIMITS_H

#define KR_USEC 1000ull
#define KR_MSEC 1000000ull
#define KR_SEC 1000000000ull

enum kr_limits {
	/* packets */
	KR_PKT_MAX = 4096,		/* bytes, the largest RDMA path MTU */
	KR_PKT_MIN = 1024,		/* smallest path MTU we run over */
	KR_PKT_MSGS_MAX = 8,		/* tracked messages in one packet */
	KR_SENT_RING = 512,		/* packet numbers in doubt, power of 2 */
	KR_SACK_WORDS = 4,
	KR_SACK_BITS = 64 * KR_SACK_WORDS,	/* packets an acknowledgement covers */
	KR_CWND_INIT = 16,		/* packets */
	KR_CWND_MIN = 4,
	KR_CWND_MAX = 240,		/* below KR_SACK_BITS */
	KR_ACK_EVERY = 8,		/* numbered packets per acknowledgement */
	KR_REORDER_MIN = 3,		/* packets, grows when proven wrong */
	KR_REORDER_MAX = 64,

	/* lanes */
	KR_LANES_MAX = 8,		/* of one association */
	KR_LANE_CREDITS_MAX = 32,	/* packets without an answer, power of 2 */
	KR_LANE_SIZE_MAX = 60 << 10,	/* bytes of a packet; its fields have 16 bits */
	KR_LANE_ACK_EVERY = 2,		/* numbered packets per acknowledgement */
	KR_BULK_MIN = 16 << 10,		/* bytes to send that make a VQP use lanes */

	/* streams */
	KR_LOST_RANGES = 8,		/* then neighbours are merged */
	KR_OOO_RANGES = 64,		/* then a message is not accepted */
	KR_BUF_BYTES_MAX = 4 << 20,	/* one direction of one VQP */

	/* VQPs */
	KR_SLOT_BITS = 24,
	KR_PENDING_BUCKETS = 64,	/* unconfirmed server VQPs, by peer id */
	KR_TOMBS_MAX = 16384,		/* finished VQPs still answered for */
	KR_ABORT_BATCH = 64,		/* VQPs ended per lock hold */

	/* paths */
	KR_PATH_TRIES = 6,
	KR_PTO_SILENT = 4,		/* unanswered timeouts: the path is silent */
};

/* The kernel's cheap timers are jiffies, up to 10 ms long. */
#define KR_TIMER_LATE_NS (100 * KR_MSEC)	/* then a timer is set anew */
#define KR_ACK_DELAY_NS (4 * KR_MSEC)
#define KR_RTT_INIT_NS (10 * KR_MSEC)
#define KR_GRANULARITY_NS (8 * KR_MSEC)
#define KR_PTO_MAX_NS (1 * KR_SEC)
#define KR_PATH_RETRY_NS (10 * KR_MSEC)
#define KR_PROBE_MIN_NS (5 * KR_MSEC)
#define KR_PROBE_MAX_NS (30 * KR_SEC)
#define KR_KEEPALIVE_NS (10 * KR_SEC)
#define KR_CONNECT_RETRY_NS (8 * KR_MSEC)
#define KR_CORK_NS (200 * KR_MSEC)
#define KR_UNPROVEN_NS (5 * KR_SEC)	/* a peer that never showed itself is forgotten */
#define KR_CHECK_NS (1 * KR_SEC)	/* an unreachable peer is looked for this often */
#define KR_SILENCE_NS (924 * KR_SEC)	/* data and no word: tcp_retries2 = 15, tcp(7) */
#define KR_ORPHAN_DATA_NS (120 * KR_SEC)	/* an orphan's bytes that do not move */
#define KR_AGAIN_MAX_NS (1 * KR_SEC)	/* between tries of what was not kept */
#define KR_LAST_WORDS_NS (120 * KR_SEC)	/* tombstones of a peer that does not come back */
#define KR_NO_MEMORY_NS (10 * KR_MSEC)	/* output that lacked memory is tried again */
#define KR_LANE_DOUBT_MIN_NS (100 * KR_MSEC)	/* answers late by this and 4 times the usual */
#define KR_LANE_DOUBT_MAX_NS (1 * KR_SEC)
#define KR_LANE_STALL_NS (2 * KR_SEC)	/* no answer: the lane is given up */
#define KR_LANE_ALONE_NS (10 * KR_SEC)	/* the same when there is no other way */
#define KR_TRIM_NS (1 * KR_SEC)		/* then an idle VQP gives its buffers back */

/* Places for RC QPs: pool.h. */
#define KR_POOL_NS (250 * KR_MSEC)	/* between looks at who deserves one */
#define KR_POOL_HALF_NS (1ull << 31)	/* 2.1 s: then bytes count half */
#define KR_POOL_HOLD_NS (1 * KR_SEC)	/* one just made is not evicted */
#define KR_POOL_RESERVE_NS (5 * KR_SEC)	/* a place is kept for whom it was freed for */
#define KR_POOL_QUIET_NS (1 * KR_SEC)	/* without bulk bytes so long: may be reclaimed */
#define KR_POOL_SHORT_NS (5 * KR_SEC)	/* none is made so long after memory was short */
#define KR_POOL_RETRY_NS (1 * KR_SEC)	/* after a failure, doubled by each further one */
#define KR_POOL_RETRY_MAX_NS (60 * KR_SEC)

#endif
