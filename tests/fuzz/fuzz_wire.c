// SPDX-License-Identifier: MIT
/*
 * fuzz_wire: any bytes as a packet, or as the offer of a lane.  What is decoded lies inside the bytes, and
 * header and messages encode to what they were decoded from.  What is told to strangers
 * is never longer than what they sent, nor answered again.
 */
#include "core/drive.h"
#include "fuzz.h"
#include "unit/core_env.h"

/* The encoding of what was decoded from @m; 0: it was refused. */
static size_t encode(u8 *again, const struct kr_msg *m)
{
	struct kr_msg copy = *m;
	struct kr_path_msg pm;
	u64 accepted, edge;
	struct kr_connect c;
	struct kr_data d;
	struct kr_end e;

	switch ((enum kr_msg_type)m->type) {
	case KR_MSG_DATA:
		kr_wire_get_data(m, &d);
		check(d.payload + d.len == m->body + m->len);
		return kr_wire_put_data(again, &copy, &d);
	case KR_MSG_CONNECT:
		return kr_wire_get_connect(m, &c) ? kr_wire_put_connect(again, &copy, &c) : 0;
	case KR_MSG_PATH_REQ:
	case KR_MSG_PATH_REP:
		return kr_wire_get_path(m, &pm) ? kr_wire_put_path(again, &copy, &pm) : 0;
	case KR_MSG_PING:
		return kr_wire_get_end(m, &e) ? kr_wire_put_end(again, &copy, &e) : 0;
	case KR_MSG_WINDOW:
		kr_wire_get_window(m, &accepted, &edge);
		return kr_wire_put_window(again, &copy, accepted, edge);
	case KR_MSG_ACCEPT:
	case KR_MSG_CLOSED:
	case KR_MSG_GONE:
		return kr_wire_put_u64(again, &copy, kr_wire_get_u64(m));
	case KR_MSG_REJECT:
	case KR_MSG_RST:
		return kr_wire_put_code(again, &copy, kr_wire_get_code(m));
	case KR_MSG_CANCEL:
		return kr_wire_put_msg(again, &copy);
	}
	abort();
}

/* As a packet that nobody here has an association for. */
static void check_stranger(const u8 *data, size_t len)
{
	u8 gone[KR_PACKET_GONE_LEN];
	struct kr_packet p, answer;
	struct kr_end end;

	kr_packet_sort(data, len, &p);
	check((p.kind == KR_PACKET_TAGGED) == (p.hdr.tag && !p.hdr.lane));
	check(!p.hdr.lane || p.kind == KR_PACKET_MALFORMED);
	if (p.kind == KR_PACKET_PATH_REQ)
		check(p.pm.assoc && p.pm.end.qpn >= 2 && p.pm.end.mtu >= KR_PKT_MIN);
	if (p.kind != KR_PACKET_TAGGED || !kr_packet_wants_gone(&p, &end))
		return;
	check(end.qpn >= 2 && end.qpn < 1u << 24 && end.mtu >= KR_PKT_MIN);
	check(kr_packet_put_gone(gone, p.hdr.tag) == sizeof(gone) && sizeof(gone) <= len);
	kr_packet_sort(gone, sizeof(gone), &answer);
	check(answer.kind == KR_PACKET_GONE && answer.gone_id == p.hdr.tag);
	check(!kr_packet_wants_gone(&answer, &end));
}

static void check_offer(const u8 *data, size_t len)
{
	u8 again[KR_OFFER_LEN];
	struct kr_offer o;

	if (!kr_wire_get_offer(data, len, &o))
		return;
	check(len >= KR_OFFER_LEN && o.tag && o.assoc && o.credits && o.size >= KR_PKT_MIN);
	kr_wire_put_offer(again, &o);
	check(!memcmp(again, data, KR_OFFER_LEN));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static u8 again[KR_MSG_HDR_LEN + 0xffff];
	const u8 *p, *end, *start;
	struct kr_hdr h;
	struct kr_msg m;
	size_t bytes;

	check_offer(data, len);
	if (!kr_wire_get_hdr(data, len, &h))
		return 0;
	check_stranger(data, len);
	kr_wire_put_hdr(again, &h);
	check(!memcmp(again, data, KR_HDR_LEN));
	check(KR_HDR_LEN + h.body_len <= len);
	p = data + KR_HDR_LEN;
	end = p + h.body_len;
	for (start = p; kr_wire_get_msg(&p, end, &m); start = p) {
		check(p > start && p <= end && m.body + m.len == p);
		check(strcmp(kr_msg_name(m.type), "?"));
		bytes = encode(again, &m);
		check(!bytes || (bytes == (size_t)(p - start) && !memcmp(again, start, bytes)));
	}
	check(p == start);
	return 0;
}
