// SPDX-License-Identifier: MIT
/*
 * Packets in the words of docs/PROTOCOL.md, one line each, for --trace; all of
 * them as one number, for --digest.
 */
#include <stdarg.h>
#include <stdio.h>
#include "sim.h"

static void print_id(const char *name, u64 id)
{
	if (id)
		printf(" %s=%lu.%lu", name, (unsigned long)(id & 0xffffff),
		       (unsigned long)(id >> KR_SLOT_BITS));
}

static void print_msg(const struct kr_msg *m)
{
	u64 accepted, edge;
	struct kr_data d;

	printf(" %s", kr_msg_name(m->type));
	print_id("dst", m->dst);
	print_id("src", m->src);
	switch (m->type) {
	case KR_MSG_DATA:
		kr_wire_get_data(m, &d);
		printf(" pos=%lu len=%u%s accepted=%lu edge=%lu",
		       (unsigned long)d.pos, d.len,
		       m->flags & KR_MF_FIN ? " FIN" : "",
		       (unsigned long)d.accepted, (unsigned long)d.edge);
		break;
	case KR_MSG_WINDOW:
		kr_wire_get_window(m, &accepted, &edge);
		printf("%s%s accepted=%lu edge=%lu",
		       m->flags & KR_MF_PROBE ? " PROBE" : "",
		       m->flags & KR_MF_AGAIN ? " AGAIN" : "",
		       (unsigned long)accepted, (unsigned long)edge);
		break;
	case KR_MSG_ACCEPT:
	case KR_MSG_CLOSED:
		printf(" %lu", (unsigned long)kr_wire_get_u64(m));
		break;
	case KR_MSG_REJECT:
	case KR_MSG_RST:
		printf(" code=%u", kr_wire_get_code(m));
		break;
	}
	putchar(';');
}

static void digest(struct sim *s, const char *what, u64 from, u64 to,
		   const u8 *p, u32 len)
{
	u64 d = s->digest ^ s->now ^ from << 52 ^ to << 40 ^ (u64)what[1] << 32 ^ len;

	while (len--)
		d = (d ^ *p++) * 0x100000001b3ull;
	s->digest = sim_mix(d);
}

void sim_trace(struct sim *s, const char *what, u32 from, u32 to, const u8 *p,
	       u32 len)
{
	const u8 *end;
	struct kr_hdr h;
	struct kr_msg m;

	if (s->has_digest)
		digest(s, what, from, to, p, len);
	if (!s->is_traced)
		return;
	printf("%12.6f ms  %u %s %u ", s->now / 1e6, from, what, to);
	if (!kr_wire_get_hdr(p, len, &h)) {
		printf("malformed\n");
		return;
	}
	printf(" pn=%lu ack=%lu sack=%lx:%lx:%lx:%lx%s |", (unsigned long)h.pn,
	       (unsigned long)h.ack, (unsigned long)h.sack[3],
	       (unsigned long)h.sack[2], (unsigned long)h.sack[1],
	       (unsigned long)h.sack[0], h.flags & KR_PF_ACK_NOW ? " ACK_NOW" : "");
	p += KR_HDR_LEN;
	end = p + h.body_len;
	while (p != end && kr_wire_get_msg(&p, end, &m))
		print_msg(&m);
	putchar('\n');
}

void sim_note(const struct sim *s, const char *format, ...)
{
	va_list ap;

	if (!s->is_traced)
		return;
	printf("%12.6f ms  # ", s->now / 1e6);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}
