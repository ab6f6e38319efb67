/* SPDX-License-Identifier: MIT */
/*
 * Two associations joined by a wire that a test can cut, and a clock that it
 * turns.  Side 0 connects, side 1 listens.
 */
#ifndef KRCORE_UNIT_PAIR_H
#define KRCORE_UNIT_PAIR_H

#include "core/assoc.h"
#include "core_env.h"

#define UNUSED __attribute__((unused))

enum { CLIENT, SERVER, VQPS = 64 };

struct user {
	struct kr_vqp v;
	u32 pending_at_open;
	u32 events;			/* since the test looked */
	u32 nr_released;
};

static struct kr_assoc assocs[2];
static struct user clients[VQPS], servers[VQPS];
static u32 nr_incoming, nr_path_reqs;
static struct kr_path_msg path_req;	/* the last one inside an association */
static u32 path_events[3];
static u32 nr_lanes_failed;
static int incoming_answer;
static u32 rx_limit = 65536;
static u32 nr_drop[2];			/* packets to lose of this sender */
static u32 nr_sent[2];
static u64 now = KR_SEC;

static int on_incoming(struct kr_assoc *a, const struct kr_connect *c,
		       struct kr_vqp **out)
{
	struct user *u = &servers[nr_incoming];

	if (incoming_answer)
		return incoming_answer;
	nr_incoming++;
	kr_vqp_init(&u->v, KR_KIND_STREAM, 65536, rx_limit, NULL);
	*out = &u->v;
	return 0;
}

static void on_event(struct kr_vqp *v, u32 events)
{
	struct user *u = container_of(v, struct user, v);

	u->events |= events;
	if (events & KR_EV_OPEN)
		u->pending_at_open = v->pending;
}

static void on_released(struct kr_vqp *v)
{
	container_of(v, struct user, v)->nr_released++;
}

static void on_arm(struct kr_vqp *v, u64 when)
{
}

static void on_path_event(struct kr_assoc *a, enum kr_path_event event)
{
	path_events[event]++;
}

static void on_path_req(struct kr_assoc *a, const struct kr_path_msg *pm)
{
	nr_path_reqs++;
	path_req = *pm;
}

static void on_lane_failed(struct kr_assoc *a, struct kr_lane *l)
{
	nr_lanes_failed++;
}

static const struct kr_ops ops = {
	.incoming = on_incoming,
	.event = on_event,
	.released = on_released,
	.arm = on_arm,
	.path_event = on_path_event,
	.path_req = on_path_req,
	.lane_failed = on_lane_failed,
};

static const u8 instances[2][16] = { { 1 }, { 2 } };
static const struct kr_end ends[2] = {
	{ .gid = { 1 }, .qpn = 17, .qkey = 1, .mtu = 1024 },
	{ .gid = { 2 }, .qpn = 18, .qkey = 2, .mtu = 1024 },
};

/* A packet into @to, as the kernel would hand it in; false: malformed. */
static UNUSED bool give(int to, const u8 *p, u32 len)
{
	struct kr_path_msg pm;
	const u8 *body = p + KR_HDR_LEN;
	struct kr_hdr h;
	struct kr_msg m;

	if (!kr_wire_get_hdr(p, len, &h))
		return false;
	if (h.tag) {
		kr_assoc_input(&assocs[to], &h, body, now);
		if (nr_path_reqs)
			kr_assoc_path_req(&assocs[to], &ends[to], &path_req, now);
		nr_path_reqs = 0;
		return true;
	}
	if (!kr_wire_get_msg(&body, body + h.body_len, &m) ||
	    m.type != KR_MSG_PATH_REQ || !kr_wire_get_path(&m, &pm))
		return false;
	kr_assoc_path_req(&assocs[to], &ends[to], &pm, now);
	return true;
}

/* The next packet of @from, or 0. */
static UNUSED u32 take(int from, u8 *p)
{
	u32 len = kr_assoc_output(&assocs[from], p, KR_PKT_MAX, true, now);

	nr_sent[from] += !!len;
	return len;
}

/* Everything that may be sent is, and arrives. */
static UNUSED void settle(void)
{
	u8 p[KR_PKT_MAX];
	bool is_busy = true;
	int from;
	u32 len;

	while (is_busy) {
		is_busy = false;
		for (from = 0; from < 2; from++) {
			while ((len = take(from, p))) {
				is_busy = true;
				now += 10 * KR_USEC;
				if (nr_drop[from])
					nr_drop[from]--;
				else
					give(!from, p, len);
			}
		}
	}
}

static u64 next_timer(struct user *users, u64 when)
{
	int i;

	for (i = 0; i < VQPS; i++)
		if (users[i].v.is_attached)
			when = min(when, users[i].v.timer_ns);
	return when;
}

static void run_timers(struct user *users)
{
	int i;

	for (i = 0; i < VQPS; i++)
		if (users[i].v.is_attached && users[i].v.timer_ns <= now)
			kr_vqp_timeout(&users[i].v, now);
}

/* Time passes, with all that is due in it. */
static UNUSED void pass(u64 ns)
{
	u64 until = now + ns, when;
	int i;

	for (;;) {
		settle();
		when = next_timer(clients, next_timer(servers, until));
		for (i = 0; i < 2; i++)
			when = min(when, kr_assoc_deadline(&assocs[i]));
		if (when >= until)
			break;
		now = max(now + 1, when);
		for (i = 0; i < 2; i++)
			kr_assoc_timeout(&assocs[i], now);
		run_timers(clients);
		run_timers(servers);
	}
	now = max(now, until);
}

static UNUSED void assocs_init(void)
{
	int i;

	for (i = 0; i < 2; i++)
		kr_assoc_init(&assocs[i], &ops, NULL, 0x1000 + i, instances[i],
			      instances[!i], now);
}

/* Both know each other and have a path. */
static UNUSED void pair_init(void)
{
	assocs_init();
	kr_assoc_path_start(&assocs[CLIENT], &ends[CLIENT], &ends[SERVER], 5, now);
	pass(20 * KR_MSEC);
}

static UNUSED void dial(int i)
{
	struct kr_vqp *v = &clients[i].v;

	kr_vqp_init(v, KR_KIND_STREAM, 65536, rx_limit, NULL);
	v->tuple.family = 4;
	v->tuple.sport = 1024 + i;
	v->tuple.dport = 80;
	kr_vqp_connect(&assocs[CLIENT], v, now + KR_SEC, now);
}

/* Connection 0 is open at both ends. */
static UNUSED void connected(void)
{
	pair_init();
	dial(0);
	pass(5 * KR_MSEC);
	clients[0].events = 0;
	servers[0].events = 0;
}

static UNUSED void put(struct kr_vqp *v, const void *bytes, u32 len)
{
	kr_buf_grow(&v->tx.buf, v->tx.head, v->tx.end - v->tx.head + len);
	kr_buf_write(&v->tx.buf, v->tx.end, bytes, len);
	kr_vqp_wrote(v, len, 0, now);
}

static UNUSED void put_zeros(struct kr_vqp *v, u32 len)
{
	static const u8 zeros[65536];

	put(v, zeros, len);
}

/* A hand-made packet into @to: one message after its number @pn. */
static UNUSED void say(int to, u64 pn, const u8 *msg, u32 len)
{
	struct kr_hdr h = { .tag = assocs[to].local_id, .pn = pn, .body_len = len };

	kr_assoc_input(&assocs[to], &h, msg, now);
}

static UNUSED void say_window(int to, struct kr_vqp *v, u64 accepted, u64 edge, u8 flags)
{
	struct kr_msg m = { .dst = v->id, .src = v->peer_id, .flags = flags };
	u8 p[128];

	say(to, 0, p, kr_wire_put_window(p, &m, accepted, edge));
}

static UNUSED void say_data(int to, struct kr_vqp *v, u64 pos, u32 len, u8 flags)
{
	struct kr_data d = { .pos = pos, .len = len, .payload = (const u8[512]){ 0 } };
	struct kr_msg m = { .dst = v->id, .src = v->peer_id, .flags = flags };
	u8 p[1024];

	say(to, 0, p, kr_wire_put_data(p, &m, &d));
}

static UNUSED void say_code(int to, u8 type, u64 dst, u64 src, u32 code)
{
	struct kr_msg m = { .type = type, .dst = dst, .src = src };
	u8 p[128];

	say(to, 0, p, kr_wire_put_code(p, &m, code));
}

#endif
