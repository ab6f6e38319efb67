// SPDX-License-Identifier: MIT
/*
 * Packets in the words of docs/PROTOCOL.md, one line each, for --trace; all of
 * them as one number, for --digest.  Packets that only ask or tell that somebody
 * is alive are counted after some in a row.
 */
#include <stdarg.h>
#include <stdio.h>
#include "sim.h"

enum {
	ALIKE_MAX = 4,			/* lines of packets that say nothing */
	GAPS_MAX = 8,			/* numbers that an acknowledgement lacks */
};

/* Slot and generation. */
static void print_id(const char *name, u64 id)
{
	if (id)
		printf(" %s %lu.%lu", name, (unsigned long)(id & ((1u << KR_SLOT_BITS) - 1)),
		       (unsigned long)(id >> KR_SLOT_BITS));
}

static void print_value(const char *name, u64 value)
{
	printf(" %s %lu", name, (unsigned long)value);
}

static const char *rst_name(u32 code)
{
	static const char *const names[] = {
		[KR_RST_ABORT] = "ABORT", [KR_RST_UNKNOWN] = "UNKNOWN",
		[KR_RST_PROTOCOL] = "PROTOCOL", [KR_RST_TIMEOUT] = "TIMEOUT",
	};

	return code < ARRAY_SIZE(names) && names[code] ? names[code] : "?";
}

static void print_window(const struct kr_msg *m)
{
	u64 accepted, edge;

	kr_wire_get_window(m, &accepted, &edge);
	printf("%s%s", m->flags & KR_MF_PROBE ? " PROBE" : "",
	       m->flags & KR_MF_AGAIN ? " AGAIN" : "");
	print_value("accepted", accepted);
	print_value("edge", edge);
}

static void print_data(const struct kr_msg *m)
{
	struct kr_data d;

	kr_wire_get_data(m, &d);
	printf(" bytes %lu-%lu%s", (unsigned long)d.pos, (unsigned long)(d.pos + d.len),
	       m->flags & KR_MF_FIN ? " FIN" : "");
	print_value("accepted", d.accepted);
	print_value("edge", d.edge);
}

static void print_path(const struct kr_msg *m)
{
	struct kr_path_msg pm;

	if (!kr_wire_get_path(m, &pm))
		return;
	printf(" assoc %lx peer %lx", (unsigned long)pm.assoc,
	       (unsigned long)pm.peer_assoc);
	print_value("qpn", pm.end.qpn);
	print_value("number", pm.end.nr);
}

static void print_msg(const struct kr_msg *m)
{
	struct kr_connect c;

	printf(" %s", kr_msg_name(m->type));
	print_id("dst", m->dst);
	print_id("src", m->src);
	if (m->type == KR_MSG_DATA)
		print_data(m);
	else if (m->type == KR_MSG_WINDOW)
		print_window(m);
	else if (m->type == KR_MSG_CONNECT && kr_wire_get_connect(m, &c))
		print_value("edge", c.edge);
	else if (m->type == KR_MSG_ACCEPT)
		print_value("edge", kr_wire_get_u64(m));
	else if (m->type == KR_MSG_CLOSED)
		print_value("accepted", kr_wire_get_u64(m));
	else if (m->type == KR_MSG_GONE)
		printf(" assoc %lx", (unsigned long)kr_wire_get_u64(m));
	else if (m->type == KR_MSG_REJECT)
		print_value("code", kr_wire_get_code(m));
	else if (m->type == KR_MSG_RST)
		printf(" %s", rst_name(kr_wire_get_code(m)));
	else if (m->type == KR_MSG_PATH_REQ || m->type == KR_MSG_PATH_REP)
		print_path(m);
	putchar(';');
}

/* "ack" as in the header, and the numbers below it that did not come. */
static void print_ack(const struct kr_hdr *h)
{
	u32 nr = 0;
	u64 back;

	if (!h->ack)
		return;
	if (h->lane) {
		print_value("took", h->ack);
		return;
	}
	print_value("ack", h->ack);
	for (back = 0; back < KR_SACK_BITS && back + 2 < h->ack; back++) {
		if (h->sack[back / 64] >> (back % 64) & 1)
			continue;
		if (++nr > GAPS_MAX) {
			printf(" ...");
			return;
		}
		printf("%s %lu", nr == 1 ? " without" : "",
		       (unsigned long)(h->ack - 2 - back));
	}
}

static bool print_hello(const u8 *p, u32 len)
{
	struct kr_hello h;

	if (!kr_wire_get_hello(p, len, &h))
		return false;
	printf("hello %s %lx, %u ends\n", h.op == KR_HELLO_ASK ? "ASK" : "ANSWER",
	       (unsigned long)h.nonce, h.nr_ends);
	return true;
}

static void digest(struct sim *s, const char *what, u64 from, u64 to,
		   const u8 *p, u32 len)
{
	u64 d = s->digest ^ s->now ^ from << 52 ^ to << 40 ^ (u64)what[1] << 32 ^ len;

	while (len--)
		d = (d ^ *p++) * 0x100000001b3ull;
	s->digest = sim_mix(d);
}

static bool is_idle(const u8 *p, u32 len)
{
	const u8 *end;
	struct kr_hdr h;
	struct kr_msg m;

	if (!kr_wire_get_hdr(p, len, &h))
		return false;
	p += KR_HDR_LEN;
	end = p + h.body_len;
	while (p != end && kr_wire_get_msg(&p, end, &m))
		if (m.type != KR_MSG_PING)
			return false;
	return true;
}

static bool wants_lines(const struct sim *s)
{
	return s->is_traced || s->counts_lines;
}

/* False: it is only counted. */
static bool begin_line(const struct sim *s, bool is_alike)
{
	u64 before = sim_report->nr_alike, nr = is_alike ? before + 1 : 0;

	if (nr <= ALIKE_MAX)
		sim_report->lines++;
	if (s->is_traced && !nr && before > ALIKE_MAX)
		printf("%14s    and %lu more of these\n", "",
		       (unsigned long)(before - ALIKE_MAX));
	sim_report->nr_alike = nr;
	if (!s->is_traced || nr > ALIKE_MAX)
		return false;
	printf("%14.6f ms ", (s->now - SIM_START_NS) / 1e6);
	return true;
}

void sim_trace(struct sim *s, const char *what, u32 from, u32 to, const u8 *p,
	       u32 len)
{
	const u8 *end;
	struct kr_hdr h;
	struct kr_msg m;

	if (s->has_digest)
		digest(s, what, from, to, p, len);
	if (!wants_lines(s) || !begin_line(s, is_idle(p, len)))
		return;
	printf(" %u %s %u ", from, what, to);
	if (print_hello(p, len))
		return;
	if (!kr_wire_get_hdr(p, len, &h)) {
		printf(" malformed\n");
		return;
	}
	if (h.pn)
		printf(" #%lu", (unsigned long)h.pn);
	print_ack(&h);
	printf("%s%s |", h.flags & KR_PF_ACK_NOW ? " ACK_NOW" : "",
	       h.flags & KR_PF_DEAF ? " NO_PATH" : "");
	p += KR_HDR_LEN;
	end = p + h.body_len;
	while (p != end && kr_wire_get_msg(&p, end, &m))
		print_msg(&m);
	putchar('\n');
}

void sim_note(const struct sim *s, const char *format, ...)
{
	va_list ap;

	if (!wants_lines(s) || !begin_line(s, false))
		return;
	printf(" # ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}
