// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Delay-based congestion control: see cc.h. */
#include "cc.h"

enum {
	KR_CC_ONE = 256,		/* one packet */
	KR_CC_TARGET_RTTS = 4,		/* target delay, in base round trips */
	KR_CC_LOSS_KEEP = 205,		/* of 256, kept after a loss */
	KR_CC_CUT_KEEP_MIN = 128,	/* of 256, kept at least after delay */
};

#define KR_CC_EPOCH_NS (10 * KR_SEC)
/*
 * Hosts that share a processor between programs and packets answer late by a
 * few scheduling turns, which says nothing of the network.  Queues shorter than
 * this are bounded by KR_CWND_MAX instead: 480 KiB of each sender.
 */
#define KR_CC_TARGET_MIN_NS (50 * KR_MSEC)

void kr_cc_init(struct kr_cc *cc)
{
	memset(cc, 0, sizeof(*cc));
	cc->cwnd = KR_CWND_INIT * KR_CC_ONE;
	cc->is_slow_start = true;
}

u32 kr_cc_window(const struct kr_cc *cc)
{
	return cc->cwnd / KR_CC_ONE;
}

static void set_cwnd(struct kr_cc *cc, u32 cwnd)
{
	cwnd = max_t(u32, cwnd, KR_CWND_MIN * KR_CC_ONE);
	cc->cwnd = min_t(u32, cwnd, KR_CWND_MAX * KR_CC_ONE);
}

static void note_rtt(struct kr_cc *cc, u64 rtt_ns, u64 now)
{
	if (!cc->base_rtt_ns) {
		cc->base_rtt_ns = rtt_ns;
		cc->epoch_rtt_ns = rtt_ns;
		cc->epoch_end_ns = now + KR_CC_EPOCH_NS;
	}
	cc->epoch_rtt_ns = min(cc->epoch_rtt_ns, rtt_ns);
	cc->base_rtt_ns = min(cc->base_rtt_ns, rtt_ns);
	if (now >= cc->epoch_end_ns) {
		cc->base_rtt_ns = cc->epoch_rtt_ns;
		cc->epoch_rtt_ns = rtt_ns;
		cc->epoch_end_ns = now + KR_CC_EPOCH_NS;
	}
}

static u64 target_ns(const struct kr_cc *cc)
{
	return KR_CC_TARGET_RTTS * cc->base_rtt_ns + KR_CC_TARGET_MIN_NS;
}

/* One cut per round trip: only packets sent after the last one count. */
static bool may_cut(struct kr_cc *cc, u64 pn, u64 next_pn)
{
	if (pn < cc->cut_pn)
		return false;
	cc->cut_pn = next_pn;
	cc->is_slow_start = false;
	return true;
}

void kr_cc_on_ack(struct kr_cc *cc, u32 nr, u64 pn, u64 next_pn, u64 rtt_ns,
		  bool is_full, u64 now)
{
	u64 target;
	u32 keep, excess;

	note_rtt(cc, rtt_ns, now);
	target = target_ns(cc);
	if (rtt_ns <= target) {
		if (!is_full)
			return;
		if (cc->is_slow_start)
			set_cwnd(cc, cc->cwnd + nr * KR_CC_ONE);
		else
			set_cwnd(cc, cc->cwnd + nr * KR_CC_ONE * KR_CC_ONE / cc->cwnd);
		return;
	}
	if (!may_cut(cc, pn, next_pn))
		return;
	/* Shifted so that the division has a 32-bit divisor. */
	rtt_ns = min_t(u64, rtt_ns, 0xffffffff);
	excess = (u32)(rtt_ns - min(target, rtt_ns)) / ((u32)(rtt_ns >> 8) + 1);
	keep = 256 - excess * 4 / 5;
	keep = max_t(u32, keep, KR_CC_CUT_KEEP_MIN);
	set_cwnd(cc, cc->cwnd / 256 * keep);
}

void kr_cc_on_loss(struct kr_cc *cc, u64 pn, u64 next_pn)
{
	if (may_cut(cc, pn, next_pn))
		set_cwnd(cc, cc->cwnd / 256 * KR_CC_LOSS_KEEP);
}

void kr_cc_on_silence(struct kr_cc *cc)
{
	set_cwnd(cc, 0);
	cc->is_slow_start = true;
}
