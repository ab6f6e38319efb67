// SPDX-License-Identifier: MIT
/*
 * fuzz_wire: any bytes as a packet and as a hello; what is decoded must be
 * inside the bytes, and a message encodes to what it was decoded from.
 */
#include <stdlib.h>

#include "core/wire.h"
#include "unit/core_env.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static void check(bool is_true)
{
	if (!is_true)
		abort();
}

static void decode(const u8 *start, const struct kr_msg *m)
{
	u8 again[KR_MSG_HDR_LEN + 0xffff];
	struct kr_msg copy = *m;
	struct kr_path_msg pm;
	struct kr_connect c;
	struct kr_data d;
	size_t len = 0;

	check(m->body == start + KR_MSG_HDR_LEN);
	switch ((enum kr_msg_type)m->type) {
	case KR_MSG_DATA:
		kr_wire_get_data(m, &d);
		len = kr_wire_put_data(again, &copy, &d);
		break;
	case KR_MSG_CONNECT:
		if (kr_wire_get_connect(m, &c))
			len = kr_wire_put_connect(again, &copy, &c);
		break;
	case KR_MSG_PATH_REQ:
	case KR_MSG_PATH_REP:
		kr_wire_get_path(m, &pm);
		break;
	case KR_MSG_ACCEPT:
	case KR_MSG_CLOSED:
	case KR_MSG_GONE:
		len = kr_wire_put_u64(again, &copy, kr_wire_get_u64(m));
		break;
	case KR_MSG_REJECT:
	case KR_MSG_RST:
		len = kr_wire_put_code(again, &copy, kr_wire_get_code(m));
		break;
	case KR_MSG_PING:
	case KR_MSG_WINDOW:
	case KR_MSG_CANCEL:
		break;
	}
	if (len)
		check(len == (size_t)KR_MSG_HDR_LEN + m->len && !memcmp(again, start, len));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	const u8 *p, *end, *start;
	struct kr_hello hello;
	struct kr_hdr h;
	struct kr_msg m;

	kr_wire_get_hello(data, len, &hello);
	if (!kr_wire_get_hdr(data, len, &h))
		return 0;
	check(KR_HDR_LEN + h.body_len <= len);
	p = data + KR_HDR_LEN;
	end = p + h.body_len;
	for (start = p; kr_wire_get_msg(&p, end, &m); start = p) {
		check(p > start && p <= end);
		decode(start, &m);
	}
	return 0;
}
