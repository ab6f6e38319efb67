// SPDX-License-Identifier: MIT
/*
 * Packets that come again much later: after a reboot of either side, over
 * another path, when the slot of their VQP is used by another connection.
 */
#include "sim.h"

enum { KEEP_ONE_IN = 8 };

static bool is_path_msg(const struct sim_packet *p)
{
	u8 type = p->len > KR_HDR_LEN ? p->bytes[KR_HDR_LEN] : 0;

	return type == KR_MSG_PATH_REQ || type == KR_MSG_PATH_REP;
}

/* The store is small: what sets up paths is rare and is kept always. */
void sim_stale_keep(struct sim *s, const struct sim_packet *p)
{
	u64 i = s->nr_old;

	if (!s->is_faulty || !s->cfg.stale)
		return;
	if (i == SIM_OLD_MAX) {
		if (!is_path_msg(p) && sim_below(&s->rng, KEEP_ONE_IN))
			return;
		i = sim_below(&s->rng, SIM_OLD_MAX);
		sim_pool_put(s->old[i]);
	} else {
		s->nr_old++;
	}
	s->old[i] = sim_pool_get(sizeof(*p) + p->len);
	memcpy(s->old[i], p, sizeof(*p) + p->len);
}

static struct sim_packet *any(struct sim *s)
{
	return s->nr_old ? s->old[sim_below(&s->rng, s->nr_old)] : NULL;
}

static void on_stale(struct sim *s, void *obj, u64 arg)
{
	const struct sim_packet *p = any(s);

	if (p && p->qpn < SIM_QPN_MIN)
		sim_net_send(s, p->peer->host->nr, p->peer->to, p->qpn, p->bytes, p->len);
	else if (p)
		sim_net_inject(s, p->peer->host->nr, p->peer->to, p->bytes,
			       p->len, false);
}

void sim_stale_start(struct sim *s)
{
	sim_fault_plan(s, s->cfg.stale, on_stale);
}

void sim_stale_clean(struct sim *s)
{
	while (s->nr_old)
		sim_pool_put(s->old[--s->nr_old]);
}
