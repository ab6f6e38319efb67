// SPDX-License-Identifier: MIT
/*
 * Packets of somebody who is not the peer: a third host, which knows the tag of
 * its own association with the victim, or a stranger who knows none; and packets
 * as another version of the protocol would write them.
 *
 * None of them is for a VQP of somebody else, so none may change one: that is
 * looked at right after each, beside what other checkers see.  Who can get a
 * token may still claim to be any host (docs/SECURITY.md): such a claim must not
 * hurt what is connected, but a forger here stops before it proves its end.
 */
#include "sim.h"

enum { BODY_MAX = 256 };

/* A packet to be: a header without numbers, then mostly one message. */
struct forgery {
	struct sim_host *victim;
	struct sim_host *forger;
	u32 from;			/* sim_cfg.hosts: a stranger */
	u64 tag;
	u32 len;
	u8 bytes[KR_HDR_LEN + BODY_MAX];
};

static void fill_random(struct sim *s, u8 *p, u32 len)
{
	while (len--)
		*p++ = sim_rand(&s->rng);
}

/* The id of a VQP at either end of some connection, or none. */
static u64 any_id(struct sim *s)
{
	const struct sim_conn *c = &s->conns[sim_below(&s->rng, s->cfg.conns)];
	const struct sim_ep *ep = sim_chance(&s->rng, SIM_PPM / 2) ? c->client :
								     c->attempts;

	if (!ep || !ep->sv || sim_chance(&s->rng, 200000))
		return sim_rand(&s->rng) & 0xff00000f;
	return ep->sv->v.id;
}

static void put_header(struct forgery *f, u32 body_len)
{
	struct kr_hdr h = { .tag = f->tag, .body_len = body_len };

	kr_wire_put_hdr(f->bytes, &h);
	f->len = KR_HDR_LEN + body_len;
}

static const u8 vqp_types[] = { KR_MSG_ACCEPT, KR_MSG_REJECT, KR_MSG_CANCEL,
				KR_MSG_DATA, KR_MSG_WINDOW, KR_MSG_RST,
				KR_MSG_CLOSED };

/* One well-formed message about two VQPs. */
static void put_vqp_msg(struct sim *s, struct forgery *f, u64 dst, u64 src)
{
	u8 *p = f->bytes + KR_HDR_LEN;
	struct kr_msg m = { .dst = dst, .src = src };
	struct kr_data d = { .pos = sim_below(&s->rng, 5000), .len = 100,
			     .accepted = sim_below(&s->rng, 5000), .edge = ~0ull };
	u8 payload[100];
	u32 len;

	fill_random(s, payload, sizeof(payload));
	d.payload = payload;
	m.type = vqp_types[sim_below(&s->rng, sizeof(vqp_types))];
	m.flags = m.type == KR_MSG_DATA ? sim_below(&s->rng, 2) : 0;
	if (m.type == KR_MSG_DATA)
		len = kr_wire_put_data(p, &m, &d);
	else if (m.type == KR_MSG_WINDOW)
		len = kr_wire_put_window(p, &m, d.accepted, d.edge);
	else if (m.type == KR_MSG_CANCEL)
		len = kr_wire_put_msg(p, &m);
	else if (m.type == KR_MSG_RST || m.type == KR_MSG_REJECT)
		len = kr_wire_put_code(p, &m, sim_between(&s->rng, 1, 5));
	else
		len = kr_wire_put_u64(p, &m, d.accepted);
	put_header(f, len);
}

/* What the forger of @f says about itself, as @instance. */
static void put_path_msg(struct sim *s, struct forgery *f, u8 type,
			 const u8 instance[16], u64 token)
{
	struct kr_path_msg pm = { .assoc = sim_rand(&s->rng) | 1, .token = token,
				  .peer_assoc = sim_rand(&s->rng) };
	struct kr_msg m = { .type = type };

	memcpy(pm.instance, instance, 16);
	sim_host_end(f->forger, &pm.end);
	put_header(f, kr_wire_put_path(f->bytes + KR_HDR_LEN, &m, &pm));
}

/* Kinds of forgeries; false: nothing to forge with now. */

static bool forge_noise(struct sim *s, struct forgery *f)
{
	f->len = sim_between(&s->rng, 1, sizeof(f->bytes));
	fill_random(s, f->bytes, f->len);
	if (f->len >= KR_HDR_LEN && sim_chance(&s->rng, 700000)) {
		put_header(f, f->len - KR_HDR_LEN);
		/* A type that exists gets further. */
		if (f->len > KR_HDR_LEN)
			f->bytes[KR_HDR_LEN] %= KR_MSG_TYPE_MAX + 2;
	}
	return true;
}

static bool forge_untagged(struct sim *s, struct forgery *f)
{
	put_vqp_msg(s, f, any_id(s), any_id(s));
	return true;
}

static bool forge_tag(struct sim *s, struct forgery *f)
{
	f->tag = sim_rand(&s->rng) | 1;
	put_vqp_msg(s, f, any_id(s), any_id(s));
	return true;
}

/* With its own tag, about connections that are not its own. */
static bool forge_known_tag(struct sim *s, struct forgery *f)
{
	struct sim_assoc *to = sim_peer(s, f->victim->nr, f->forger->nr)->assoc;
	struct sim_assoc *own = sim_peer(s, f->forger->nr, f->victim->nr)->assoc;
	u64 dst = any_id(s), src = any_id(s);

	/* Who stands still has other connections by the time that it looks. */
	if (f->victim->paused_ns > s->now || !to || !own || own->a.remote_id != to->a.local_id ||
	    kr_table_find(&to->a.table, dst) ||
	    kr_assoc_find_unconfirmed(&to->a, src))
		return false;
	f->tag = to->a.local_id;
	f->from = f->forger->nr;
	put_vqp_msg(s, f, dst, src);
	return true;
}

static bool forge_token(struct sim *s, struct forgery *f)
{
	u8 type = sim_chance(&s->rng, SIM_PPM / 2) ? KR_MSG_PATH_REQ :
						     KR_MSG_PATH_REP;

	put_path_msg(s, f, type, sim_any_host(s)->instance, sim_rand(&s->rng));
	return true;
}

/* Somebody got a token for a name that is not its own. */
static bool forge_claim(struct sim *s, struct forgery *f)
{
	const struct sim_host *as = sim_any_host(s);
	const struct sim_assoc *assoc;
	u32 i;

	/* Last words that are under way are easily lost by it. */
	for (i = 0; i < 32; i++) {
		assoc = sim_peer(s, f->victim->nr, as->nr)->assoc;
		if (assoc && !assoc->a.nr_vqps && assoc->a.nr_tombs)
			break;
		f->victim = sim_any_host(s);
		as = sim_any_host(s);
	}
	if (as == f->victim)
		return false;
	put_path_msg(s, f, KR_MSG_PATH_REQ, as->instance,
		     sim_host_token(f->victim, as->instance));
	return true;
}

static bool forge_gone(struct sim *s, struct forgery *f)
{
	struct kr_msg m = { .type = KR_MSG_GONE };

	put_header(f, kr_wire_put_u64(f->bytes + KR_HDR_LEN, &m,
				      sim_rand(&s->rng)));
	return true;
}

static bool forge_hello(struct sim *s, struct forgery *f)
{
	struct kr_hello h = { .op = sim_between(&s->rng, 1, 2),
			      .family = sim_between(&s->rng, 3, 6) };

	memcpy(h.instance, sim_any_host(s)->instance, 16);
	kr_wire_put_hello(f->bytes, &h);
	f->len = KR_HELLO_LEN;
	if (sim_chance(&s->rng, SIM_PPM / 2))
		return true;
	/* As a datagram: the network brings it. */
	if (sim_chance(&s->rng, SIM_PPM / 2))
		f->bytes[4]++;
	sim_net_send(s, f->forger->nr, f->victim->nr, SIM_QPN_ASK, f->bytes, f->len);
	return false;
}

/* Some VQP whose real peer says something in packets; NULL: it has none now. */
static const struct sim_ep *pick_real(struct sim *s, struct forgery *f)
{
	const struct sim_conn *c = &s->conns[sim_below(&s->rng, s->cfg.conns)];
	const struct sim_ep *ep = sim_chance(&s->rng, SIM_PPM / 2) ? c->client :
								     c->attempts;

	if (!ep || ep->is_released || !ep->peer->assoc || ep->peer->assoc->a.is_loop)
		return NULL;
	f->victim = ep->host;
	f->tag = ep->peer->assoc->a.local_id;
	return ep;
}

static bool put_real(struct sim *s, struct forgery *f)
{
	const struct sim_ep *ep = pick_real(s, f);

	if (!ep || ep->peer->assoc->a.path != KR_PATH_READY)
		return false;
	put_vqp_msg(s, f, ep->sv->v.id, ep->sv->v.peer_id);
	return true;
}

/* A header that version 1 does not know. */
static bool forge_version(struct sim *s, struct forgery *f)
{
	static const u8 at[] = { 0, 1, 2, 3, 16, 23 };
	u8 bit = 1u << sim_below(&s->rng, 8);
	u32 i = sim_below(&s->rng, sizeof(at));

	if (!put_real(s, f))
		return false;
	if (at[i] == 1 && bit == KR_PF_ACK_NOW)
		bit <<= 1;
	f->bytes[at[i]] ^= bit;
	return true;
}

/* A message that version 1 does not know: its flags, its zeros, its length. */
static bool forge_message(struct sim *s, struct forgery *f)
{
	u8 *p = f->bytes + KR_HDR_LEN;
	u32 what = sim_below(&s->rng, 3);

	if (!put_real(s, f))
		return false;
	if (what == 0 || p[0] == KR_MSG_DATA) {
		p[1] |= 0x80;
	} else if (what == 1) {
		p[4 + sim_below(&s->rng, 4)] = 1;
	} else {
		put_unaligned_be16(get_unaligned_be16(p + 2) + 4, p + 2);
		put_header(f, f->len - KR_HDR_LEN + 4);
	}
	return true;
}

/* A body that breaks a rule of its type, or names another association. */
static bool forge_body(struct sim *s, struct forgery *f)
{
	static const u8 types[] = { KR_MSG_PATH_REQ, KR_MSG_PATH_REP, KR_MSG_CONNECT,
				    KR_MSG_ACCEPT, KR_MSG_GONE };
	const struct sim_ep *ep = pick_real(s, f);
	u8 *p = f->bytes + KR_HDR_LEN;
	struct kr_msg m = { 0 };
	struct kr_connect c = { .kind = KR_KIND_STREAM };

	if (!ep)
		return false;
	/* Others would prove a path. */
	m.type = types[sim_below(&s->rng, ep->peer->assoc->a.path == KR_PATH_READY ?
					  ARRAY_SIZE(types) : 2)];
	m.dst = m.type == KR_MSG_ACCEPT ? ep->sv->v.id : 0;
	if (m.type == KR_MSG_CONNECT)
		put_header(f, kr_wire_put_connect(p, &m, &c));
	else if (m.type == KR_MSG_ACCEPT || m.type == KR_MSG_GONE)
		put_header(f, kr_wire_put_u64(p, &m, sim_rand(&s->rng)));
	else
		put_path_msg(s, f, m.type, f->victim->instance, 0);
	return true;
}

static bool (*const kinds[])(struct sim *s, struct forgery *f) = {
	forge_noise, forge_untagged, forge_tag, forge_known_tag, forge_token,
	forge_claim, forge_gone, forge_hello, forge_version, forge_message,
	forge_body,
};

static void on_forged(struct sim *s, void *obj, u64 arg)
{
	struct forgery f = { .victim = sim_any_host(s), .from = s->cfg.hosts,
			     .forger = &s->hosts[sim_below(&s->rng, s->cfg.hosts)] };

	if (f.forger == f.victim ||
	    !kinds[sim_below(&s->rng, ARRAY_SIZE(kinds))](s, &f))
		return;
	sim_net_inject(s, f.from, f.victim->nr, f.bytes, f.len, true);
}

void sim_forge_start(struct sim *s)
{
	sim_fault_plan(s, s->cfg.forged, on_forged);
}

/* A peer of a later version: what it adds to the packets that we understand. */

static u32 append(struct sim *s, u8 *p, u32 len)
{
	u32 nr = sim_between(&s->rng, 1, SIM_STRANGE_MAX);

	fill_random(s, p + len, nr);
	return len + nr;
}

/* A message that this version has no rule for, before or after the others. */
static u32 add_msg(struct sim *s, u8 *p, u32 len)
{
	u8 types[] = { 0, KR_MSG_TYPE_MAX + 1, 0xff, KR_MSG_WINDOW, KR_MSG_RST };
	struct kr_msg m = { .type = types[sim_below(&s->rng, sizeof(types))],
			    .flags = 0x80, .len = 8, .dst = any_id(s),
			    .src = any_id(s) };
	u32 body = get_unaligned_be16(p + 4);
	u8 *at = p + KR_HDR_LEN;

	if (sim_chance(&s->rng, SIM_PPM / 2))
		memmove(at + KR_MSG_HDR_LEN + 8, at, body);
	else
		at += body;
	kr_wire_put_u64(at, &m, sim_rand(&s->rng));
	put_unaligned_be16(body + KR_MSG_HDR_LEN + 8, p + 4);
	return len + KR_MSG_HDR_LEN + 8;
}

u32 sim_forge_strange(struct sim *s, u8 *p, u32 len)
{
	u8 type = len > KR_HDR_LEN ? p[KR_HDR_LEN] : 0;

	if (type == KR_MSG_PATH_REQ || type == KR_MSG_PATH_REP) {
		/* Features: what we do not know is ignored. */
		put_unaligned_be32(sim_rand(&s->rng),
				   p + KR_HDR_LEN + KR_MSG_HDR_LEN + 40);
		return len;
	}
	if (sim_chance(&s->rng, 300000))
		return append(s, p, len);
	return add_msg(s, p, len);
}
