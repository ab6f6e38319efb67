// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What the owner of an association would have to decide: see drive.h. */
#include "drive.h"

/* Packets. */

static void sort_untagged(struct kr_packet *p)
{
	const u8 *at = p->body;
	struct kr_msg m;

	if (!kr_wire_get_msg(&at, p->body + p->hdr.body_len, &m))
		return;
	if (m.type == KR_MSG_GONE) {
		p->gone_id = kr_wire_get_u64(&m);
		p->kind = KR_PACKET_GONE;
	} else if (m.type == KR_MSG_PATH_REQ && kr_wire_get_path(&m, &p->pm)) {
		p->kind = KR_PACKET_PATH_REQ;
	}
}

void kr_packet_sort(const u8 *bytes, u32 len, struct kr_packet *p)
{
	p->kind = KR_PACKET_MALFORMED;
	if (!kr_wire_get_hdr(bytes, len, &p->hdr) || p->hdr.lane)
		return;
	p->body = bytes + KR_HDR_LEN;
	if (p->hdr.tag)
		p->kind = KR_PACKET_TAGGED;
	else
		sort_untagged(p);
}

bool kr_packet_wants_gone(const struct kr_packet *p, struct kr_end *end)
{
	const u8 *at = p->body, *stop = at + p->hdr.body_len;
	struct kr_path_msg pm;
	struct kr_msg m;

	while (at != stop && kr_wire_get_msg(&at, stop, &m)) {
		if (m.type == KR_MSG_PING && kr_wire_get_end(&m, end))
			return true;
		if (m.type == KR_MSG_PATH_REQ && kr_wire_get_path(&m, &pm)) {
			*end = pm.end;
			return true;
		}
	}
	return false;
}

u32 kr_packet_put_gone(u8 *buf, u64 id)
{
	struct kr_msg m = { .type = KR_MSG_GONE };
	struct kr_hdr h = { 0 };

	h.body_len = kr_wire_put_u64(buf + KR_HDR_LEN, &m, id);
	kr_wire_put_hdr(buf, &h);
	return KR_HDR_LEN + h.body_len;
}

bool kr_rate_is_ok(struct kr_rate *r, u32 per_second, u64 now)
{
	if (now - r->since_ns >= KR_SEC) {
		r->since_ns = now;
		r->nr = 0;
	}
	if (r->nr >= per_second)
		return false;
	r->nr++;
	return true;
}

/* Output. */

enum kr_run kr_assoc_run(struct kr_assoc *a, const struct kr_port_ops *ops,
			 void *port, u64 now)
{
	bool is_data;
	void *slot;
	u8 *bytes;
	u32 len;

	while (kr_assoc_has_output(a, now)) {
		slot = ops->get(port, false, &bytes);
		is_data = slot;
		if (!slot)
			slot = ops->get(port, true, &bytes);
		if (!slot)
			return KR_RUN_STARVED;
		len = kr_assoc_output(a, bytes, KR_PKT_MAX, is_data, now);
		if (len) {
			ops->post(port, slot, len);
			continue;
		}
		ops->put(port, slot);
		/* What waited its turn may have had nothing to send any more. */
		if (kr_assoc_has_output(a, now))
			return is_data ? KR_RUN_NO_MEMORY : KR_RUN_STARVED;
	}
	return KR_RUN_DONE;
}

static enum kr_run run_lane(struct kr_assoc *a, struct kr_lane *l, u64 now)
{
	void *slot;
	u8 *bytes;
	u32 len;

	while (kr_assoc_lane_has_output(a, l, now)) {
		slot = l->ops->get(l->port, false, &bytes);
		if (!slot)
			return KR_RUN_STARVED;
		len = kr_assoc_lane_output(a, l, bytes, now);
		if (len) {
			l->ops->post(l->port, slot, len);
			continue;
		}
		l->ops->put(l->port, slot);
		if (kr_assoc_lane_has_output(a, l, now))
			return KR_RUN_NO_MEMORY;
	}
	return KR_RUN_DONE;
}

enum kr_run kr_assoc_run_lanes(struct kr_assoc *a, u64 now)
{
	enum kr_run run = KR_RUN_DONE;
	struct kr_lane *l;

	list_for_each_entry(l, &a->lanes, node)
		run = max(run, run_lane(a, l, now));
	return run;
}

u64 kr_assoc_run_at(const struct kr_assoc *a, enum kr_run run, u64 now)
{
	u64 when = kr_assoc_deadline(a);

	return run == KR_RUN_NO_MEMORY ? min(when, now + KR_NO_MEMORY_NS) : when;
}

/* The peer. */

enum kr_path_need kr_assoc_path_need(const struct kr_assoc *a,
				     const struct kr_end *ends, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (!kr_end_is_same(&ends[i], &a->remote))
			continue;
		/* The peer is there, and does not hear us: it may take us for elsewhere. */
		if (a->path == KR_PATH_READY && !kr_channel_is_silent(&a->ch))
			return KR_PATH_IS_PROVEN;
		if (a->path == KR_PATH_PROBING)
			return KR_PATH_IS_PROBED;
	}
	return KR_PATH_IS_WANTED;
}

static bool is_unreachable(const struct kr_assoc *a)
{
	return a->path == KR_PATH_NONE ||
	       (a->path == KR_PATH_READY && kr_channel_is_silent(&a->ch));
}

enum kr_check kr_assoc_check(const struct kr_assoc *a, u64 host_timeout_ns, u64 now,
			     u64 *after_ns, int *err)
{
	u64 silent_ns = now - a->heard_ns;

	if (a->is_ended)
		return KR_CHECK_NOTHING;
	*err = ECONNRESET;
	*after_ns = KR_UNPROVEN_NS;
	/* Nobody uses it, and the peer never showed that it exists. */
	if (!a->is_proven && !a->nr_vqps)
		return silent_ns >= KR_UNPROVEN_NS ? KR_CHECK_END : KR_CHECK_LATER;
	if (!is_unreachable(a) || !(a->nr_vqps || a->nr_tombs))
		return KR_CHECK_NOTHING;
	*err = ETIMEDOUT;
	*after_ns = KR_CHECK_NS;
	/* Only last words, and nobody there to hear them; nobody here waits, either. */
	if (!a->nr_vqps)
		return now - max(a->heard_ns, a->buried_ns) >= KR_LAST_WORDS_NS ?
		       KR_CHECK_END : KR_CHECK_ASK;
	/* Lanes that are up are asked in turn whether it is alive. */
	return host_timeout_ns && silent_ns > host_timeout_ns && !a->nr_up ?
	       KR_CHECK_END : KR_CHECK_ASK;
}
