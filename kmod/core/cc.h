/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Congestion control of one channel, in packets.  The window doubles each round
 * trip at first, then grows by one; a loss shrinks it by a fifth, at most once per
 * round trip.  It never exceeds KR_CWND_MAX, which bounds the queue that one
 * sender can build anywhere.
 *
 * Delay was tried as the signal (as in Swift) and given up: hosts that share a
 * processor between programs and packets answer late by scheduling turns of many
 * milliseconds, and the window then followed the scheduler instead of the
 * network.  The cut is milder than TCP's half, because RDMA networks lose by
 * corruption as well, and losses of 1-10 % must not stop a transfer.
 */
#ifndef KRCORE_CORE_CC_H
#define KRCORE_CORE_CC_H

#include "env.h"
#include "limits.h"

struct kr_cc {
	u32 cwnd;			/* packets, in 1/256 */
	bool is_slow_start;
	u64 cut_pn;			/* numbers below belong to the last cut */
};

void kr_cc_init(struct kr_cc *cc);

/* Packets that may be in flight. */
u32 kr_cc_window(const struct kr_cc *cc);

/* @nr packets were acknowledged.  @is_full: the window limits us. */
void kr_cc_on_ack(struct kr_cc *cc, u32 nr, bool is_full);

/* Packet @pn was lost; @next_pn: the next number to be sent. */
void kr_cc_on_loss(struct kr_cc *cc, u64 pn, u64 next_pn);

/* Nothing was heard for several timeouts: start again from the minimum. */
void kr_cc_on_silence(struct kr_cc *cc);

#endif
