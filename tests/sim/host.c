// SPDX-License-Identifier: MIT
/*
 * What the kernel's host.c does around an association: it asks for the peer by a
 * hello, proves a path, sends while there are slots, keeps one timer, answers
 * GONE to a PING for nobody, and asks again while somebody waits.
 */
#include <stdlib.h>
#include "sim.h"

#define NEVER (~0ull)

enum { GONE_PER_SECOND = 100 };

/* A PATH_REQ or a PING for nobody, on its way to the worker. */
struct item {
	u64 gone_tag;
	struct kr_path_msg pm;
};

void sim_host_end(const struct sim_host *h, struct kr_end *e)
{
	memset(e, 0, sizeof(*e));
	put_unaligned_be32(h->nr + 1, e->gid);
	e->qpn = h->qpn;
	e->qkey = 0x80000000u | h->qpn;
	e->mtu = h->sim->cfg.mtu;
}

/* False: of no host of this run. */
static bool host_at(const struct sim *s, const struct kr_end *e, u32 *nr)
{
	*nr = get_unaligned_be32(e->gid) - 1;
	return *nr < s->cfg.hosts;
}

static struct sim_peer *peer_create(struct sim *s, u64 key, u32 from, u32 to)
{
	struct sim_peer *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	p->host = &s->hosts[from];
	p->to = to;
	p->timer_ns = NEVER;
	INIT_LIST_HEAD(&p->starved);
	list_add_tail(&p->node, &p->host->peers);
	sim_map_add(&s->peers, key, p);
	return p;
}

struct sim_peer *sim_peer(struct sim *s, u32 from, u32 to)
{
	u64 key = (u64)(from + 1) << 32 | to;
	struct sim_peer *p = sim_map_get(&s->peers, key);

	return p ? p : peer_create(s, key, from, to);
}

static u32 nr_slots(const struct sim_host *h)
{
	return h->sim->cfg.slots + SIM_CONTROL_SLOTS;
}

void sim_hosts_start(struct sim *s)
{
	struct sim_host *h;
	u32 i;

	s->hosts = calloc(s->cfg.hosts, sizeof(s->hosts[0]));
	if (!s->hosts)
		abort();
	for (i = 0; i < s->cfg.hosts; i++) {
		h = &s->hosts[i];
		h->sim = s;
		h->nr = i;
		INIT_LIST_HEAD(&h->peers);
		INIT_LIST_HEAD(&h->starved);
		INIT_LIST_HEAD(&h->ending);
		h->done_ns = calloc(nr_slots(h), sizeof(h->done_ns[0]));
		if (!h->done_ns)
			abort();
		sim_host_boot(h, true);
	}
}

void sim_hosts_clean(struct sim *s)
{
	struct sim_peer *p, *n;
	u32 i;

	for (i = 0; i < s->cfg.hosts; i++) {
		list_for_each_entry_safe(p, n, &s->hosts[i].peers, node)
			free(p);
		free(s->hosts[i].done_ns);
	}
	sim_lanes_clean(s);
	sim_map_clean(&s->peers);
	sim_map_clean(&s->assocs);
	sim_map_clean(&s->ids);
	free(s->hosts);
}

void sim_host_boot(struct sim_host *h, bool is_new_qp)
{
	struct sim *s = h->sim;
	struct sim_peer *p;

	h->boots++;
	put_unaligned_be64(sim_mix(s->seed + h->nr * 1000 + h->boots), h->instance);
	put_unaligned_be32(h->nr, h->instance + 8);
	if (is_new_qp || !h->qpn)
		h->qpn = 16 + h->nr * 4096 + h->boots;
	h->nr_busy = 0;
	h->is_wake_armed = false;
	h->stop_ns = 0;
	h->away_ns = 0;
	h->old_qp_ns = 0;
	sim_for_each_peer(p, h) {
		p->timer_ns = NEVER;
		p->is_asking = false;
		list_del_init(&p->starved);
	}
}

void sim_host_lose_device(struct sim_host *h, u64 ns, u64 old_qp_ns)
{
	h->old_qpn = h->qpn;
	h->old_qp_ns = h->sim->now + old_qp_ns;
	h->qpn += 64;
	h->away_ns = h->sim->now + ns;
}

/* Output and time. */

static void on_slot_done(struct sim *s, void *obj, u64 arg)
{
	struct sim_host *h = obj;

	if (arg != h->boots)
		return;
	h->is_wake_armed = false;
	sim_host_tx_ready(s, h, 0);
}

static void starve(struct sim_peer *p)
{
	struct sim_host *h = p->host;

	if (list_empty(&p->starved))
		list_add_tail(&p->starved, &h->starved);
	if (!h->nr_busy || h->is_wake_armed)
		return;
	h->is_wake_armed = true;
	sim_host_at(h, h->done_ns[h->done_first], on_slot_done, h, h->boots);
}

/* In turn, until one finds no slot: then the others would not either. */
void sim_host_tx_ready(struct sim *s, void *obj, u64 arg)
{
	struct sim_host *h = obj;
	struct sim_peer *p;

	do {
		if (list_empty(&h->starved))
			return;
		p = list_first_entry(&h->starved, struct sim_peer, starved);
		list_del_init(&p->starved);
		sim_peer_run(p);
	} while (list_empty(&p->starved));
}

/* The one packet that is being made. */
static u8 packet[SIM_PACKET_MAX];

static void *port_get(void *port, bool is_control, u8 **bytes)
{
	struct sim_host *h = ((struct sim_peer *)port)->host;
	u32 nr = is_control ? nr_slots(h) : h->sim->cfg.slots;
	u64 now = h->sim->now;

	while (h->nr_busy && h->done_ns[h->done_first] <= now) {
		h->done_first = (h->done_first + 1) % nr_slots(h);
		h->nr_busy--;
	}
	if (h->stop_ns > now || h->nr_busy >= nr)
		return NULL;
	*bytes = packet;
	return packet;
}

/* A slot counts when something is posted. */
static void port_put(void *port, void *slot)
{
}

/* The device works them off in order. */
static void use_slot(struct sim_host *h, u32 len)
{
	struct sim *s = h->sim;
	u32 last = (h->done_first + h->nr_busy - 1) % nr_slots(h);
	u64 start = h->nr_busy ? max(h->done_ns[last], s->now) : s->now;

	h->done_ns[(h->done_first + h->nr_busy++) % nr_slots(h)] =
		start + len / 8 + sim_below(&s->rng, 2 * KR_USEC);
}

static void port_post(void *port, void *slot, u32 len)
{
	struct sim_peer *p = port;
	struct kr_assoc *a = &p->assoc->a;
	struct sim_host *h = p->host;
	struct sim *s = h->sim;
	u32 to;

	if (len > a->mtu)
		sim_fail(s, "a packet of %u bytes, MTU %u", len, a->mtu);
	p->nr_packets++;
	if (host_at(s, &a->remote, &to))
		sim_net_send(s, h->nr, to, a->remote.qpn, packet, len);
	use_slot(h, len);
}

static const struct kr_port_ops port_ops = {
	.get = port_get,
	.put = port_put,
	.post = port_post,
};

static void on_timer(struct sim *s, void *obj, u64 arg)
{
	struct sim_peer *p = obj;

	if (!p->assoc || p->timer_ns > sim_clock(p->host) || p->assoc->nr != arg)
		return;
	p->timer_ns = NEVER;
	kr_assoc_timeout(&p->assoc->a, sim_clock(p->host));
	sim_peer_run(p);
}

void sim_peer_run(struct sim_peer *p)
{
	u64 now = sim_clock(p->host);
	enum kr_run run;
	u64 when;

	if (!p->assoc)
		return;
	if (p->assoc->a.is_loop) {
		kr_loop_run(&p->assoc->a, now);
		return;
	}
	run = kr_assoc_run(&p->assoc->a, &port_ops, p, now);
	if (run == KR_RUN_STARVED)
		starve(p);
	/* A lane that has no slot says so itself when there is one. */
	if (kr_assoc_run_lanes(&p->assoc->a, now) == KR_RUN_NO_MEMORY)
		run = KR_RUN_NO_MEMORY;
	when = kr_assoc_run_at(&p->assoc->a, run, now);
	if (!kr_timer_moves(p->timer_ns, &when, now))
		return;
	p->timer_ns = when;
	sim_timer(p->host, when, on_timer, p, p->assoc->nr);
}

void sim_host_rearm(struct sim_host *h)
{
	struct sim_peer *p;

	sim_for_each_peer(p, h)
		if (p->assoc && p->timer_ns != NEVER)
			sim_timer(h, p->timer_ns, on_timer, p, p->assoc->nr);
}

/* The path. */

static void check(struct sim *s, void *obj, u64 arg);

/* The work of the association: there is one, the sooner time counts. */
static void check_after(struct sim_peer *p, u64 ns)
{
	u64 when = p->host->sim->now + ns;

	if (p->check_ns && p->check_ns <= when)
		return;
	p->check_ns = when;
	sim_host_at(p->host, when, check, p, p->assoc->nr);
}

static void check(struct sim *s, void *obj, u64 arg)
{
	struct sim_peer *p = obj;
	enum kr_check what;
	u64 after_ns;
	int err;

	if (!p->assoc || p->assoc->nr != arg || !p->check_ns || p->check_ns > s->now)
		return;
	p->check_ns = 0;
	what = kr_assoc_check(&p->assoc->a, s->cfg.host_timeout_ns, sim_clock(p->host),
			      &after_ns, &err);
	if (what == KR_CHECK_END) {
		sim_peer_gone(p, err);
		return;
	}
	if (what == KR_CHECK_ASK)
		sim_hello_ask(p);
	if (what != KR_CHECK_NOTHING)
		check_after(p, after_ns);
}

void sim_peer_check(struct sim_peer *p)
{
	if (p->assoc)
		check_after(p, SIM_WORKER_NS);
}

void sim_path_event(struct kr_assoc *a, enum kr_path_event event)
{
	static const char *const names[] = {
		[KR_PATH_EV_READY] = "is READY", [KR_PATH_EV_FAILED] = "failed",
		[KR_PATH_EV_SILENT] = "is silent",
	};
	struct sim_assoc *as = container_of(a, struct sim_assoc, a);
	struct sim *s = as->peer->host->sim;

	sim_note(s, "host %u: path to %u %s", as->peer->host->nr, as->peer->to,
		 names[event]);
	if (event == KR_PATH_EV_READY && as->peer->host->away_ns > s->now)
		sim_fail(s, "host %u: a path without a device", as->peer->host->nr);
	if (event != KR_PATH_EV_READY)
		sim_met_assoc(a, event == KR_PATH_EV_FAILED ? SIM_MET_FAILED : SIM_MET_SILENT);
	check_after(as->peer, SIM_WORKER_NS);
}

/* It has the slots that it will ever have. */
static void limit_table(struct sim *s, struct kr_table *t)
{
	u32 fail = sim_env.fail;

	sim_env.fail = 0;
	sim_env.has_small_tables = false;
	kr_table_del(t, kr_table_add(t, s, KR_SLOT_VQP));
	sim_env.has_small_tables = true;
	sim_env.fail = fail;
}

static struct sim_assoc *create(struct sim_peer *p, const u8 instance[16])
{
	struct sim_assoc *as = calloc(1, sizeof(*as));
	struct sim *s = p->host->sim;

	if (!as)
		abort();
	as->peer = p;
	as->nr = ++s->nr_assocs;
	kr_assoc_init(&as->a, s->ops, as, sim_mix(s->seed ^ as->nr << 20) | 1,
		      p->host->instance, instance, sim_clock(p->host));
	sim_wrap_assoc(s, &as->a);
	if (s->cfg.small_tables)
		limit_table(s, &as->a.table);
	p->assoc = as;
	if (p->to == p->host->nr)
		kr_loop_init(&as->a);
	else
		sim_map_add(&s->assocs, as->a.local_id, as);
	p->timer_ns = NEVER;
	list_del_init(&p->starved);
	p->check_ns = 0;
	check_after(p, KR_UNPROVEN_NS);
	return as;
}

u64 sim_host_token(const struct sim_host *h, const u8 instance[16])
{
	return sim_mix(get_unaligned_be64(instance) ^
		       get_unaligned_be64(h->instance)) | 1;
}

void sim_peer_is(struct sim_peer *p, const u8 instance[16])
{
	if (!p->assoc || !memcmp(p->assoc->a.peer_instance, instance, 16))
		return;
	sim_met_assoc(&p->assoc->a, SIM_MET_OTHER_INSTANCE);
	sim_peer_gone(p, ECONNRESET);
}

static struct sim_assoc *assoc_for(struct sim_peer *p, const u8 instance[16])
{
	sim_peer_is(p, instance);
	return p->assoc ? p->assoc : create(p, instance);
}

void sim_peer_self(struct sim_peer *p)
{
	if (!p->assoc)
		create(p, p->host->instance);
}

void sim_peer_prove(struct sim_peer *p, const struct kr_hello *answer)
{
	struct kr_assoc *a = &assoc_for(p, answer->instance)->a;
	struct sim_host *h = p->host;
	struct kr_end local;

	if (kr_assoc_path_need(a, answer->ends, answer->nr_ends) != KR_PATH_IS_WANTED ||
	    h->away_ns > h->sim->now)
		return;
	sim_met_assoc(a, SIM_MET_START);
	if (a->path == KR_PATH_READY)
		kr_assoc_path_lost(a, sim_clock(h));
	sim_host_end(h, &local);
	kr_assoc_path_start(a, &local, &answer->ends[0], answer->token, sim_clock(h));
	sim_peer_run(p);
}

static void free_assoc(struct sim_assoc *as)
{
	sim_lanes_end(as);
	kr_assoc_clean(&as->a);
	list_del_init(&as->node);
	free(as);
}

/* The worker: programs go on between two batches of VQPs. */
static void on_ending(struct sim *s, void *obj, u64 nr)
{
	struct sim_host *h = obj;
	struct sim_assoc *as;

	list_for_each_entry(as, &h->ending, node) {
		if (as->nr != nr)
			continue;
		if (kr_assoc_abort_some(&as->a, as->err, sim_clock(h)))
			sim_host_at(h, s->now + SIM_WORKER_NS, on_ending, h, nr);
		else
			free_assoc(as);
		return;
	}
}

void sim_peer_gone(struct sim_peer *p, int err)
{
	struct sim_assoc *as = p->assoc;
	struct sim_host *h = p->host;
	struct sim *s = h->sim;

	if (!as)
		return;
	sim_note(s, "host %u: association %lu with %u ends", h->nr, (unsigned long)as->nr,
		 p->to);
	sim_met_assoc(&as->a, SIM_MET_END);
	kr_assoc_end(&as->a);
	if (!as->a.is_loop)
		sim_map_remove(&s->assocs, as->a.local_id);
	p->assoc = NULL;
	as->err = err;
	/* Before its VQPs or after them. */
	if (!list_empty(&as->a.lanes) && sim_chance(&s->rng, SIM_PPM / 2))
		sim_lanes_end(as);
	list_add_tail(&as->node, &h->ending);
	sim_host_at(h, s->now + sim_spread(&s->rng, SIM_WORKER_NS, 100 * SIM_WORKER_NS),
		    on_ending, h, as->nr);
}

void sim_host_halt(struct sim_host *h, int err)
{
	struct sim_assoc *as;
	struct sim_peer *p;

	sim_for_each_peer(p, h)
		sim_peer_gone(p, err);
	while (!list_empty(&h->ending)) {
		as = list_first_entry(&h->ending, struct sim_assoc, node);
		while (kr_assoc_abort_some(&as->a, as->err, sim_clock(h)))
			;
		free_assoc(as);
	}
}

/* Packets. */

static u32 met_path_req(int err)
{
	switch (err) {
	case -EALREADY:
		return SIM_MET_TOO_LATE;
	case -EEXIST:
		return SIM_MET_OTHER_VQPS;
	case -ENOTCONN:
		return SIM_MET_OTHER_NO_PATH;
	case -ESTALE:
		return SIM_MET_OTHER_STALE;
	}
	return KR_MSG_PATH_REQ;
}

static void answer_path_req(struct sim_host *h, const struct kr_path_msg *pm)
{
	struct sim *s = h->sim;
	struct kr_end local;
	struct sim_peer *p;
	u32 from;
	int err;

	/* Who the sender is its instance says, not where it is. */
	from = get_unaligned_be32(pm->instance + 8);
	if (from >= s->cfg.hosts || from == h->nr)
		return;
	p = sim_peer(s, h->nr, from);
	/* A request that was under way when its sender rebooted. */
	if (p->assoc && memcmp(p->assoc->a.peer_instance, pm->instance, 16) &&
	    memcmp(s->hosts[from].instance, pm->instance, 16))
		return;
	sim_host_end(h, &local);
	err = kr_assoc_path_req(&assoc_for(p, pm->instance)->a, &local, pm,
				sim_clock(h));
	sim_met_assoc(&p->assoc->a, met_path_req(err));
	if (!err)
		sim_check_path_req(s, p->assoc, pm);
	else if (err == -ESTALE)
		sim_peer_gone(p, ECONNRESET);
	else if (err == -ENOTCONN)
		sim_hello_ask(p);
	sim_peer_run(p);
}

static void send_gone(struct sim_host *h, const struct kr_end *to, u64 tag)
{
	u8 buf[KR_PACKET_GONE_LEN];
	u32 host;

	if (!host_at(h->sim, to, &host) || host == h->nr)
		return;
	sim_net_send(h->sim, h->nr, host, to->qpn, buf, kr_packet_put_gone(buf, tag));
}

static void on_item(struct sim *s, void *obj, u64 arg)
{
	struct sim_host *h = &s->hosts[arg];
	struct item *item = obj;

	if (h->away_ns > s->now)
		return;
	if (item->gone_tag)
		send_gone(h, &item->pm.end, item->gone_tag);
	else
		answer_path_req(h, &item->pm);
}

static void queue_item(struct sim_host *h, const struct kr_path_msg *pm, u64 tag)
{
	struct item *item = sim_pool_get(sizeof(*item));

	item->pm = *pm;
	item->gone_tag = tag;
	sim_host_at_owned(h, h->sim->now + SIM_WORKER_NS, on_item, item, h->nr);
}

static void receive_gone(struct sim_host *h, u64 tag)
{
	struct sim_peer *p;

	sim_for_each_peer(p, h) {
		if (!p->assoc || p->assoc->a.is_loop || p->assoc->a.remote_id != tag)
			continue;
		sim_met_assoc(&p->assoc->a, KR_MSG_GONE);
		sim_peer_gone(p, ECONNRESET);
	}
}

static void receive_tagged(struct sim_host *h, const struct kr_packet *p)
{
	struct sim_assoc *as = sim_map_get(&h->sim->assocs, p->hdr.tag);
	struct kr_path_msg pm = { 0 };

	if (as && as->peer->host == h) {
		sim_met_packet(&as->a, p);
		kr_assoc_input(&as->a, &p->hdr, p->body, sim_clock(h));
		sim_peer_run(as->peer);
		return;
	}
	if (kr_packet_wants_gone(p, &pm.end) &&
	    kr_rate_is_ok(&h->gone_rate, GONE_PER_SECOND, sim_clock(h)))
		queue_item(h, &pm, p->hdr.tag);
}

void sim_host_receive(struct sim_host *h, const u8 *bytes, u32 len)
{
	struct kr_packet p;

	kr_packet_sort(bytes, len, &p);
	if (p.kind == KR_PACKET_TAGGED)
		receive_tagged(h, &p);
	else if (p.kind == KR_PACKET_GONE)
		receive_gone(h, p.gone_id);
	else if (p.kind == KR_PACKET_PATH_REQ &&
		 p.pm.token == sim_host_token(h, p.pm.instance))
		queue_item(h, &p.pm, 0);
}

void sim_path_req(struct kr_assoc *a, const struct kr_path_msg *pm)
{
	queue_item(container_of(a, struct sim_assoc, a)->peer->host, pm, 0);
}

/* The rest of kr_ops is the user's. */
const struct kr_ops sim_ops = {
	.incoming = sim_incoming,
	.event = sim_event,
	.released = sim_released,
	.arm = sim_arm,
	.path_event = sim_path_event,
	.path_req = sim_path_req,
	.lane_failed = sim_lane_failed,
};
