// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Congestion control by loss, with a bounded window: see cc.h. */
#include "cc.h"

enum {
	KR_CC_ONE = 256,		/* one packet */
	KR_CC_LOSS_KEEP = 205,		/* of 256, kept after a loss */
};

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

void kr_cc_on_ack(struct kr_cc *cc, u32 nr, bool is_full)
{
	if (!is_full)
		return;
	if (cc->is_slow_start)
		set_cwnd(cc, cc->cwnd + nr * KR_CC_ONE);
	else
		set_cwnd(cc, cc->cwnd + nr * KR_CC_ONE * KR_CC_ONE / cc->cwnd);
}

void kr_cc_on_loss(struct kr_cc *cc, u64 pn, u64 next_pn)
{
	if (pn < cc->cut_pn)
		return;
	cc->cut_pn = next_pn;
	cc->is_slow_start = false;
	set_cwnd(cc, cc->cwnd / 256 * KR_CC_LOSS_KEEP);
}

void kr_cc_on_silence(struct kr_cc *cc)
{
	set_cwnd(cc, 0);
	cc->is_slow_start = true;
}
