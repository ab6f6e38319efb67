/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Congestion control of one channel, in packets.  Delay is the signal, as in
 * Swift: below a target the window grows (doubling each round trip at first,
 * then by one), above it the window shrinks in proportion to the excess, at
 * most once per round trip.  A loss shrinks it too, but mildly: RDMA networks
 * lose by corruption and by overflow, and delay tells the second before it
 * happens.  Chosen over a loss-based window because losses that are not
 * congestion (1-10 %) must not stop a transfer, and because a window bounded by
 * delay keeps the receive pools that all hosts share short.
 */
#ifndef KRCORE_CORE_CC_H
#define KRCORE_CORE_CC_H

#include "env.h"
#include "limits.h"

struct kr_cc {
	u32 cwnd;			/* packets, in 1/256 */
	bool is_slow_start;
	u64 base_rtt_ns;		/* smallest of this and the last epoch */
	u64 epoch_rtt_ns;		/* smallest of this epoch */
	u64 epoch_end_ns;
	u64 cut_pn;			/* numbers up to here belong to the last cut */
};

void kr_cc_init(struct kr_cc *cc);

/* Packets that may be in flight. */
u32 kr_cc_window(const struct kr_cc *cc);

/*
 * @nr packets were acknowledged, the newest is @pn, sent @rtt_ns ago.
 * @next_pn: the next number to be sent.  @is_full: the window limits us.
 */
void kr_cc_on_ack(struct kr_cc *cc, u32 nr, u64 pn, u64 next_pn, u64 rtt_ns,
		  bool is_full, u64 now);
void kr_cc_on_loss(struct kr_cc *cc, u64 pn, u64 next_pn);

/* Nothing was heard for several timeouts: start again from the minimum. */
void kr_cc_on_silence(struct kr_cc *cc);

#endif
