// SPDX-License-Identifier: MIT
/*
 * fuzz_wire: any bytes as a packet.  What is decoded lies inside the bytes, and
 * header and messages encode to what they were decoded from.
 */
#include "core/wire.h"
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

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static u8 again[KR_MSG_HDR_LEN + 0xffff];
	const u8 *p, *end, *start;
	struct kr_hdr h;
	struct kr_msg m;
	size_t bytes;

	if (!kr_wire_get_hdr(data, len, &h))
		return 0;
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
