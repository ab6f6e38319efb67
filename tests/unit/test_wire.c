// SPDX-License-Identifier: MIT
/* test_wire: what is encoded is decoded, and nothing else is. */
#include <criterion/criterion.h>

#include "core/wire.h"
#include "core_env.h"

static const struct kr_end end = { .gid = { 1, 2, 3 }, .qpn = 77, .qkey = 0x80000001,
				   .mtu = 1024 };

Test(wire, msg_name__known_and_unknown)
{
	cr_expect_str_eq(kr_msg_name(KR_MSG_DATA), "DATA");
	cr_expect_str_eq(kr_msg_name(0), "?");
	cr_expect_str_eq(kr_msg_name(KR_MSG_TYPE_MAX + 1), "?");
}

Test(wire, hdr__round_trip)
{
	struct kr_hdr in = { .flags = KR_PF_ACK_NOW, .body_len = 8, .ack_delay = 3,
			     .tag = 1ull << 63, .pn = 5, .ack = 6, .sack = { 7, 8, 9, 10 } };
	u8 p[KR_HDR_LEN + 8] = { 0 };
	struct kr_hdr out;

	kr_wire_put_hdr(p, &in);

	cr_expect(kr_wire_get_hdr(p, sizeof(p), &out));
	cr_expect_eq(out.tag, in.tag);
	cr_expect_eq(out.pn, 5);
	cr_expect_eq(out.ack, 6);
	cr_expect_eq(out.sack[1], 8);
	cr_expect_eq(out.sack[3], 10);
	cr_expect_eq(out.ack_delay, 3);
}

Test(wire, get_hdr__refuses_what_is_short_or_unknown)
{
	struct kr_hdr in = { .body_len = 8 };
	u8 p[KR_HDR_LEN + 8] = { 0 };
	struct kr_hdr out;

	kr_wire_put_hdr(p, &in);
	cr_expect_not(kr_wire_get_hdr(p, KR_HDR_LEN - 1, &out));
	cr_expect_not(kr_wire_get_hdr(p, KR_HDR_LEN + 7, &out));
	p[1] = 0x80;
	cr_expect_not(kr_wire_get_hdr(p, sizeof(p), &out));
	p[1] = 0;
	p[0] = KR_WIRE_VERSION + 1;
	cr_expect_not(kr_wire_get_hdr(p, sizeof(p), &out));
	p[0] = KR_WIRE_VERSION;
	p[16] = 1;
	cr_expect_not(kr_wire_get_hdr(p, sizeof(p), &out), "a MAC without a key");
}

Test(wire, data__round_trip)
{
	struct kr_data in = { .pos = 9, .accepted = 10, .edge = 11, .len = 3,
			      .payload = (const u8 *)"abc" };
	struct kr_msg m = { .flags = KR_MF_FIN, .dst = 1, .src = 2 }, got;
	const u8 *at;
	struct kr_data out;
	u8 p[256];
	size_t len = kr_wire_put_data(p, &m, &in);

	at = p;
	cr_assert(kr_wire_get_msg(&at, p + len, &got));
	kr_wire_get_data(&got, &out);
	cr_expect_eq(at, p + len);
	cr_expect_eq(got.flags, KR_MF_FIN);
	cr_expect_eq(got.dst, 1);
	cr_expect_eq(got.src, 2);
	cr_expect_eq(out.pos, 9);
	cr_expect_eq(out.accepted, 10);
	cr_expect_eq(out.edge, 11);
	cr_expect_eq(out.len, 3);
	cr_expect(!memcmp(out.payload, "abc", 3));
}

Test(wire, window__round_trip)
{
	struct kr_msg m = { .flags = KR_MF_PROBE }, got;
	u64 accepted, edge;
	u8 p[64];
	const u8 *at = p;
	size_t len = kr_wire_put_window(p, &m, 1ull << 40, 1ull << 50);

	cr_assert(kr_wire_get_msg(&at, p + len, &got));
	kr_wire_get_window(&got, &accepted, &edge);
	cr_expect_eq(accepted, 1ull << 40);
	cr_expect_eq(edge, 1ull << 50);
}

static size_t put_connect(u8 *p, u8 family, u16 sport, u64 src)
{
	struct kr_connect c = { .cookie = 5, .edge = 6, .kind = KR_KIND_STREAM,
				.tuple = { .family = family, .sport = sport,
					   .dport = 80, .daddr = { 10 } } };
	struct kr_msg m = { .src = src };

	return kr_wire_put_connect(p, &m, &c);
}

Test(wire, connect__round_trip)
{
	struct kr_connect c;
	struct kr_msg m;
	u8 p[128];
	const u8 *at = p;
	size_t len = put_connect(p, 4, 1024, 7);

	cr_assert(kr_wire_get_msg(&at, p + len, &m));
	cr_assert(kr_wire_get_connect(&m, &c));
	cr_expect_eq(c.cookie, 5);
	cr_expect_eq(c.edge, 6);
	cr_expect_eq(c.tuple.sport, 1024);
	cr_expect_eq(c.tuple.dport, 80);
	cr_expect_eq(c.tuple.daddr[0], 10);
}

static bool is_connect_ok(u8 family, u16 sport, u64 src)
{
	struct kr_connect c;
	struct kr_msg m;
	u8 p[128];
	const u8 *at = p;
	size_t len = put_connect(p, family, sport, src);

	cr_assert(kr_wire_get_msg(&at, p + len, &m));
	return kr_wire_get_connect(&m, &c);
}

Test(wire, get_connect__refuses_families_ports_and_nobody)
{
	cr_expect(is_connect_ok(6, 1, 1));
	cr_expect_not(is_connect_ok(5, 1, 1));
	cr_expect_not(is_connect_ok(4, 0, 1));
	cr_expect_not(is_connect_ok(4, 1, 0));
}

Test(wire, path__round_trip)
{
	struct kr_path_msg in = { .instance = { 9 }, .assoc = 1, .peer_assoc = 2,
				  .token = 3, .features = 4, .end = end }, out;
	struct kr_msg m = { .type = KR_MSG_PATH_REQ };
	u8 p[128];
	const u8 *at = p;
	size_t len = kr_wire_put_path(p, &m, &in);

	cr_assert(kr_wire_get_msg(&at, p + len, &m));
	cr_assert(kr_wire_get_path(&m, &out));
	cr_expect_eq(out.assoc, 1);
	cr_expect_eq(out.peer_assoc, 2);
	cr_expect_eq(out.token, 3);
	cr_expect_eq(out.end.qpn, 77);
	cr_expect_eq(out.end.mtu, 1024);
}

Test(wire, get_msg__refuses_wrong_lengths_flags_and_types)
{
	struct kr_msg m = { .type = KR_MSG_RST }, got;
	u8 p[64];
	const u8 *at = p;
	size_t len = kr_wire_put_code(p, &m, 1);

	cr_expect_not(kr_wire_get_msg(&at, p + len - 1, &got));
	cr_expect_not(kr_wire_get_msg(&at, p + 3, &got));
	cr_expect_eq(at, p);
	p[1] = 1;
	cr_expect_not(kr_wire_get_msg(&at, p + len, &got));
	p[1] = 0;
	p[4] = 1;
	cr_expect_not(kr_wire_get_msg(&at, p + len, &got), "reserved bytes");
	p[4] = 0;
	p[3] = KR_CODE_LEN + 1;
	cr_expect_not(kr_wire_get_msg(&at, p + sizeof(p), &got));
	p[3] = KR_CODE_LEN;
	p[0] = KR_MSG_TYPE_MAX + 1;
	cr_expect_not(kr_wire_get_msg(&at, p + len, &got));
	p[0] = 0;
	cr_expect_not(kr_wire_get_msg(&at, p + len, &got));
}

Test(wire, hello__round_trip)
{
	struct kr_hello in = { .op = KR_HELLO_ANSWER, .family = 4, .nr_ends = 1,
			       .nonce = 1, .cookie = 2, .token = 3,
			       .ends = { end } }, out;
	u8 p[KR_HELLO_LEN];

	kr_wire_put_hello(p, &in);

	cr_assert(kr_wire_get_hello(p, sizeof(p), &out));
	cr_expect_eq(out.nonce, 1);
	cr_expect_eq(out.cookie, 2);
	cr_expect_eq(out.token, 3);
	cr_expect_eq(out.ends[0].qpn, 77);
}

Test(wire, get_hello__refuses_other_lengths_and_too_many_ends)
{
	struct kr_hello in = { .op = KR_HELLO_ASK, .family = 6 }, out;
	u8 p[KR_HELLO_LEN];

	kr_wire_put_hello(p, &in);
	cr_expect(kr_wire_get_hello(p, sizeof(p), &out));
	cr_expect_not(kr_wire_get_hello(p, sizeof(p) - 1, &out));
	p[7] = KR_HELLO_ENDS + 1;
	cr_expect_not(kr_wire_get_hello(p, sizeof(p), &out));
	p[7] = 1;
	cr_expect_not(kr_wire_get_hello(p, sizeof(p), &out), "an end without QPN");
	p[7] = 0;
	p[0] = 'k';
	cr_expect_not(kr_wire_get_hello(p, sizeof(p), &out));
}

Test(wire, hdr__only_lanes_tell_that_there_is_no_path)
{
	struct kr_hdr in = { .flags = KR_PF_DEAF, .lane = 1 }, out;
	u8 p[KR_HDR_LEN];

	kr_wire_put_hdr(p, &in);
	cr_assert(kr_wire_get_hdr(p, sizeof(p), &out));
	cr_expect_eq(out.flags, KR_PF_DEAF);
	cr_expect_eq(out.lane, 1);
	p[2] = 0;
	cr_expect_not(kr_wire_get_hdr(p, sizeof(p), &out));
	p[2] = 2;
	cr_expect_not(kr_wire_get_hdr(p, sizeof(p), &out));
	p[2] = 0;
	p[1] = KR_PF_ACK_NOW;
	cr_expect(kr_wire_get_hdr(p, sizeof(p), &out));
}

static const struct kr_offer offer = { .tag = 1ull << 63, .assoc = 0x123456789abcull,
				       .size = KR_LANE_SIZE_MAX, .credits = 0x1234 };

Test(wire, offer__round_trip)
{
	u8 p[KR_OFFER_LEN + 1];
	struct kr_offer out;

	p[KR_OFFER_LEN] = 0x77;
	kr_wire_put_offer(p, &offer);

	cr_expect_eq(p[KR_OFFER_LEN], 0x77);
	cr_assert(kr_wire_get_offer(p, KR_OFFER_LEN, &out));
	cr_expect_eq(out.tag, offer.tag);
	cr_expect_eq(out.assoc, offer.assoc);
	cr_expect_eq(out.size, offer.size);
	cr_expect_eq(out.credits, offer.credits);
	cr_expect_not(kr_wire_get_offer(p, KR_OFFER_LEN - 1, &out));
}

static bool is_offer_ok(struct kr_offer o)
{
	u8 p[KR_OFFER_LEN];

	kr_wire_put_offer(p, &o);
	return kr_wire_get_offer(p, sizeof(p), &o);
}

Test(wire, get_offer__refuses_what_no_lane_can_use)
{
	struct kr_offer o = offer;

	o.credits = 0;
	cr_expect_not(is_offer_ok(o));
	o.credits = 1;
	o.size = KR_PKT_MIN - 1;
	cr_expect_not(is_offer_ok(o));
	o.size = KR_PKT_MIN;
	cr_expect(is_offer_ok(o));
	o.size = ~0u;
	cr_expect(is_offer_ok(o), "more than the sender uses");
	o.tag = 0;
	cr_expect_not(is_offer_ok(o));
	o.tag = 1;
	o.assoc = 0;
	cr_expect_not(is_offer_ok(o));
}

Test(wire, get_offer__refuses_other_magic_versions_and_what_is_reserved)
{
	static const u8 checked[] = { 0, 1, 2, 3, 4, 5, 12, 13, 14, 15 };
	struct kr_offer out;
	u8 p[KR_OFFER_LEN];
	u32 i;

	kr_wire_put_offer(p, &offer);
	for (i = 0; i < ARRAY_SIZE(checked); i++) {
		p[checked[i]] ^= 1;
		cr_expect_not(kr_wire_get_offer(p, sizeof(p), &out), "byte %u", checked[i]);
		p[checked[i]] ^= 1;
	}
	cr_expect(kr_wire_get_offer(p, sizeof(p), &out));
}
