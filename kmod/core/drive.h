/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Driving an association: what its owner has to decide about packets, send slots,
 * paths and silent peers.  The owner (host.c in the kernel, the simulator in user
 * space) adds its lock, memory, devices and threads, and decides nothing itself.
 */
#ifndef KRCORE_CORE_DRIVE_H
#define KRCORE_CORE_DRIVE_H

#include "assoc.h"

/* What an arrived packet is. */
enum kr_packet_kind {
	KR_PACKET_MALFORMED,
	KR_PACKET_TAGGED,		/* for the association with hdr.tag */
	KR_PACKET_GONE,			/* its sender has no association gone_id any more */
	KR_PACKET_PATH_REQ,		/* pm; its token is for the owner to check */
};

struct kr_packet {
	enum kr_packet_kind kind;
	struct kr_hdr hdr;
	const u8 *body;			/* hdr.body_len bytes */
	u64 gone_id;
	struct kr_path_msg pm;
};

void kr_packet_sort(const u8 *bytes, u32 len, struct kr_packet *p);
/* Nobody here has the packet's tag: true if its sender, at *end, wants to be told so. */
bool kr_packet_wants_gone(const struct kr_packet *p, struct kr_end *end);
/* GONE about association @id into @buf, which has room for it; its length. */
u32 kr_packet_put_gone(u8 *buf, u64 id);
enum { KR_PACKET_GONE_LEN = KR_HDR_LEN + KR_MSG_HDR_LEN + KR_GONE_LEN };

/* At most @per_second of something that strangers can cause. */
struct kr_rate {
	u64 since_ns;
	u32 nr;
};

bool kr_rate_is_ok(struct kr_rate *r, u32 per_second, u64 now);

/* Where packets leave; called by kr_assoc_run() and kr_assoc_run_lanes() alone. */
struct kr_port_ops {
	/*
	 * A send slot and where its KR_PKT_MAX (or kr_lane.size) bytes are, NULL: none is free.
	 * Some slots are kept for packets without data, @is_control.
	 */
	void *(*get)(void *port, bool is_control, u8 **bytes);
	void (*put)(void *port, void *slot);
	void (*post)(void *port, void *slot, u32 len);
};

enum kr_run {
	KR_RUN_DONE,			/* all that may go has gone */
	KR_RUN_STARVED,			/* run again when slots are free */
	KR_RUN_NO_MEMORY,
};

/* Sends all that may go now. */
enum kr_run kr_assoc_run(struct kr_assoc *a, const struct kr_port_ops *ops,
			 void *port, u64 now);
/* The same for its lanes.  STARVED: each that is runs again when it has free slots. */
enum kr_run kr_assoc_run_lanes(struct kr_assoc *a, u64 now);
/* When to call kr_assoc_timeout() and run again, ~0: never. */
u64 kr_assoc_run_at(const struct kr_assoc *a, enum kr_run run, u64 now);

/*
 * Has the hello of the peer, which is at one of these ends, led to a path?  One that is
 * silent counts as wanted: the peer answers the hello and does not hear us.
 */
enum kr_path_need {
	KR_PATH_IS_PROVEN,
	KR_PATH_IS_PROBED,		/* it will be proven or fail */
	KR_PATH_IS_WANTED,		/* kr_assoc_path_start() to one of them */
};

enum kr_path_need kr_assoc_path_need(const struct kr_assoc *a,
				     const struct kr_end *ends, u32 nr);

/* What to do about the peer. */
enum kr_check {
	KR_CHECK_NOTHING,		/* until the next path event */
	KR_CHECK_LATER,
	KR_CHECK_ASK,			/* look for the peer by a hello, then check again */
	KR_CHECK_END,			/* the association ends, with *err */
};

/*
 * To be called after a path event, when a device came, KR_UNPROVEN_NS after the
 * association was made and *after_ns after LATER or ASK.
 * @host_timeout_ns: the bound for the death of whole hosts, 0: none.
 */
enum kr_check kr_assoc_check(const struct kr_assoc *a, u64 host_timeout_ns, u64 now,
			     u64 *after_ns, int *err);

#endif
