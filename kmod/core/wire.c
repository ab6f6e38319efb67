// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Encoding and decoding of the wire format; see wire.h and docs/PROTOCOL.md. */
#include "wire.h"

/* Legal flags and the bounds of the body of each message type. */
struct kr_msg_rule {
	const char *name;
	u8 flags;
	u16 len_min;
	u16 len_max;
};

static const struct kr_msg_rule rules[KR_MSG_TYPE_MAX + 1] = {
	[KR_MSG_PING] = { "PING", 0, KR_END_LEN, KR_END_LEN },
	[KR_MSG_CONNECT] = { "CONNECT", 0, KR_CONNECT_LEN, KR_CONNECT_LEN },
	[KR_MSG_ACCEPT] = { "ACCEPT", 0, KR_ACCEPT_LEN, KR_ACCEPT_LEN },
	[KR_MSG_REJECT] = { "REJECT", 0, KR_CODE_LEN, KR_CODE_LEN },
	[KR_MSG_CANCEL] = { "CANCEL", 0, 0, 0 },
	[KR_MSG_DATA] = { "DATA", KR_MF_FIN, KR_DATA_LEN, 0xffff },
	[KR_MSG_WINDOW] = { "WINDOW", KR_MF_PROBE | KR_MF_AGAIN, KR_WINDOW_LEN, KR_WINDOW_LEN },
	[KR_MSG_RST] = { "RST", 0, KR_CODE_LEN, KR_CODE_LEN },
	[KR_MSG_CLOSED] = { "CLOSED", 0, KR_CLOSED_LEN, KR_CLOSED_LEN },
	[KR_MSG_GONE] = { "GONE", 0, KR_GONE_LEN, KR_GONE_LEN },
	[KR_MSG_PATH_REQ] = { "PATH_REQ", 0, KR_PATH_LEN, KR_PATH_LEN },
	[KR_MSG_PATH_REP] = { "PATH_REP", 0, KR_PATH_LEN, KR_PATH_LEN },
};

const char *kr_msg_name(enum kr_msg_type type)
{
	if (type < 1 || type > KR_MSG_TYPE_MAX)
		return "?";
	return rules[type].name;
}

void kr_wire_put_hdr(u8 *p, const struct kr_hdr *h)
{
	int i;

	p[0] = KR_WIRE_VERSION;
	p[1] = h->flags;
	p[2] = h->lane;
	p[3] = h->key_id;
	put_unaligned_be16(h->body_len, p + 4);
	put_unaligned_be16(h->ack_delay, p + 6);
	put_unaligned_be64(h->tag, p + 8);
	put_unaligned_be64(h->mac, p + 16);
	put_unaligned_be64(h->pn, p + 24);
	put_unaligned_be64(h->ack, p + 32);
	for (i = 0; i < KR_SACK_WORDS; i++)
		put_unaligned_be64(h->sack[i], p + 40 + 8 * i);
}

bool kr_wire_get_hdr(const u8 *p, size_t len, struct kr_hdr *h)
{
	int i;

	if (len < KR_HDR_LEN || p[0] != KR_WIRE_VERSION || p[1] & ~KR_PF_ALL)
		return false;
	h->flags = p[1];
	h->lane = p[2];
	h->key_id = p[3];
	h->body_len = get_unaligned_be16(p + 4);
	h->ack_delay = get_unaligned_be16(p + 6);
	h->tag = get_unaligned_be64(p + 8);
	h->mac = get_unaligned_be64(p + 16);
	h->pn = get_unaligned_be64(p + 24);
	h->ack = get_unaligned_be64(p + 32);
	for (i = 0; i < KR_SACK_WORDS; i++)
		h->sack[i] = get_unaligned_be64(p + 40 + 8 * i);
	/* A cluster key is not part of version 1's features yet. */
	return h->lane <= 1 && !h->key_id && !h->mac &&
	       (h->lane || !(h->flags & KR_PF_DEAF)) &&
	       h->body_len <= len - KR_HDR_LEN;
}

size_t kr_wire_put_msg(u8 *p, const struct kr_msg *m)
{
	p[0] = m->type;
	p[1] = m->flags;
	put_unaligned_be16(m->len, p + 2);
	put_unaligned_be32(0, p + 4);
	put_unaligned_be64(m->dst, p + 8);
	put_unaligned_be64(m->src, p + 16);
	return KR_MSG_HDR_LEN + m->len;
}

size_t kr_wire_put_data(u8 *p, struct kr_msg *m, const struct kr_data *d)
{
	u8 *body = p + KR_MSG_HDR_LEN;

	m->type = KR_MSG_DATA;
	m->len = KR_DATA_LEN + d->len;
	put_unaligned_be64(d->pos, body);
	put_unaligned_be64(d->accepted, body + 8);
	put_unaligned_be64(d->edge, body + 16);
	if (d->payload)
		memcpy(body + KR_DATA_LEN, d->payload, d->len);
	return kr_wire_put_msg(p, m);
}

size_t kr_wire_put_window(u8 *p, struct kr_msg *m, u64 accepted, u64 edge)
{
	m->type = KR_MSG_WINDOW;
	m->len = KR_WINDOW_LEN;
	put_unaligned_be64(accepted, p + KR_MSG_HDR_LEN);
	put_unaligned_be64(edge, p + KR_MSG_HDR_LEN + 8);
	return kr_wire_put_msg(p, m);
}

size_t kr_wire_put_connect(u8 *p, struct kr_msg *m, const struct kr_connect *c)
{
	u8 *body = p + KR_MSG_HDR_LEN;

	m->type = KR_MSG_CONNECT;
	m->len = KR_CONNECT_LEN;
	put_unaligned_be64(c->cookie, body);
	put_unaligned_be64(c->edge, body + 8);
	body[16] = c->tuple.family;
	body[17] = c->kind;
	put_unaligned_be16(0, body + 18);
	put_unaligned_be16(c->tuple.sport, body + 20);
	put_unaligned_be16(c->tuple.dport, body + 22);
	memcpy(body + 24, c->tuple.saddr, 16);
	memcpy(body + 40, c->tuple.daddr, 16);
	return kr_wire_put_msg(p, m);
}

size_t kr_wire_put_u64(u8 *p, struct kr_msg *m, u64 value)
{
	m->len = 8;
	put_unaligned_be64(value, p + KR_MSG_HDR_LEN);
	return kr_wire_put_msg(p, m);
}

size_t kr_wire_put_code(u8 *p, struct kr_msg *m, u32 code)
{
	m->len = KR_CODE_LEN;
	put_unaligned_be32(code, p + KR_MSG_HDR_LEN);
	return kr_wire_put_msg(p, m);
}

static void put_end(u8 *p, const struct kr_end *e)
{
	memcpy(p, e->gid, 16);
	put_unaligned_be32(e->qpn, p + 16);
	put_unaligned_be32(e->qkey, p + 20);
	put_unaligned_be16(e->mtu, p + 24);
	put_unaligned_be16(e->nr, p + 26);
}

static bool get_end(const u8 *p, struct kr_end *e)
{
	memcpy(e->gid, p, 16);
	e->qpn = get_unaligned_be32(p + 16);
	e->qkey = get_unaligned_be32(p + 20);
	e->mtu = get_unaligned_be16(p + 24);
	e->nr = get_unaligned_be16(p + 26);
	return e->qpn >= 2 && e->qpn < 1u << 24 &&
	       e->mtu >= KR_PKT_MIN;
}

bool kr_end_is_same(const struct kr_end *x, const struct kr_end *y)
{
	return x->qpn == y->qpn && x->qkey == y->qkey && x->mtu == y->mtu &&
	       !memcmp(x->gid, y->gid, 16);
}

size_t kr_wire_put_end(u8 *p, struct kr_msg *m, const struct kr_end *e)
{
	m->len = KR_END_LEN;
	put_end(p + KR_MSG_HDR_LEN, e);
	return kr_wire_put_msg(p, m);
}

size_t kr_wire_put_path(u8 *p, struct kr_msg *m, const struct kr_path_msg *pm)
{
	u8 *body = p + KR_MSG_HDR_LEN;

	m->len = KR_PATH_LEN;
	memcpy(body, pm->instance, 16);
	put_unaligned_be64(pm->assoc, body + 16);
	put_unaligned_be64(pm->peer_assoc, body + 24);
	put_unaligned_be64(pm->token, body + 32);
	put_unaligned_be32(pm->features, body + 40);
	put_end(body + 44, &pm->end);
	return kr_wire_put_msg(p, m);
}

bool kr_wire_get_msg(const u8 **p, const u8 *end, struct kr_msg *m)
{
	const struct kr_msg_rule *rule;
	const u8 *q = *p;

	if (end - q < KR_MSG_HDR_LEN || !q[0] || q[0] > KR_MSG_TYPE_MAX)
		return false;
	rule = &rules[q[0]];
	m->type = q[0];
	m->flags = q[1];
	m->len = get_unaligned_be16(q + 2);
	m->dst = get_unaligned_be64(q + 8);
	m->src = get_unaligned_be64(q + 16);
	m->body = q + KR_MSG_HDR_LEN;
	if (get_unaligned_be32(q + 4) || m->flags & ~rule->flags ||
	    m->len < rule->len_min || m->len > rule->len_max ||
	    m->len > end - m->body)
		return false;
	*p = m->body + m->len;
	return true;
}

void kr_wire_get_data(const struct kr_msg *m, struct kr_data *d)
{
	d->pos = get_unaligned_be64(m->body);
	d->accepted = get_unaligned_be64(m->body + 8);
	d->edge = get_unaligned_be64(m->body + 16);
	d->len = m->len - KR_DATA_LEN;
	d->payload = m->body + KR_DATA_LEN;
}

void kr_wire_get_window(const struct kr_msg *m, u64 *accepted, u64 *edge)
{
	*accepted = get_unaligned_be64(m->body);
	*edge = get_unaligned_be64(m->body + 8);
}

bool kr_wire_get_connect(const struct kr_msg *m, struct kr_connect *c)
{
	const u8 *body = m->body;

	c->client = m->src;
	c->cookie = get_unaligned_be64(body);
	c->edge = get_unaligned_be64(body + 8);
	c->tuple.family = body[16];
	c->kind = body[17];
	c->tuple.sport = get_unaligned_be16(body + 20);
	c->tuple.dport = get_unaligned_be16(body + 22);
	memcpy(c->tuple.saddr, body + 24, 16);
	memcpy(c->tuple.daddr, body + 40, 16);
	return (c->tuple.family == 4 || c->tuple.family == 6) &&
	       !get_unaligned_be16(body + 18) && c->tuple.sport &&
	       c->tuple.dport && m->src && !m->dst;
}

u64 kr_wire_get_u64(const struct kr_msg *m)
{
	return get_unaligned_be64(m->body);
}

u32 kr_wire_get_code(const struct kr_msg *m)
{
	return get_unaligned_be32(m->body);
}

bool kr_wire_get_end(const struct kr_msg *m, struct kr_end *e)
{
	return get_end(m->body, e);
}

bool kr_wire_get_path(const struct kr_msg *m, struct kr_path_msg *pm)
{
	const u8 *body = m->body;

	memcpy(pm->instance, body, 16);
	pm->assoc = get_unaligned_be64(body + 16);
	pm->peer_assoc = get_unaligned_be64(body + 24);
	pm->token = get_unaligned_be64(body + 32);
	pm->features = get_unaligned_be32(body + 40);
	return pm->assoc && get_end(body + 44, &pm->end);
}

static const u8 offer_magic[4] = { 'K', 'R', 'L', 'N' };

void kr_wire_put_offer(u8 *p, const struct kr_offer *o)
{
	memcpy(p, offer_magic, 4);
	p[4] = KR_WIRE_VERSION;
	p[5] = 0;
	put_unaligned_be16(o->credits, p + 6);
	put_unaligned_be32(o->size, p + 8);
	put_unaligned_be32(0, p + 12);
	put_unaligned_be64(o->tag, p + 16);
	put_unaligned_be64(o->assoc, p + 24);
}

bool kr_wire_get_offer(const u8 *p, size_t len, struct kr_offer *o)
{
	if (len < KR_OFFER_LEN || memcmp(p, offer_magic, 4) || p[4] != KR_WIRE_VERSION || p[5])
		return false;
	o->credits = get_unaligned_be16(p + 6);
	o->size = get_unaligned_be32(p + 8);
	o->tag = get_unaligned_be64(p + 16);
	o->assoc = get_unaligned_be64(p + 24);
	return !get_unaligned_be32(p + 12) && o->credits && o->size >= KR_PKT_MIN &&
	       o->tag && o->assoc;
}

static const u8 hello_magic[4] = { 'K', 'R', 'C', 'O' };

enum { HELLO_ENDS_AT = 88 };

void kr_wire_put_hello(u8 *p, const struct kr_hello *h)
{
	int i;

	memset(p, 0, KR_HELLO_LEN);
	memcpy(p, hello_magic, 4);
	p[4] = KR_WIRE_VERSION;
	p[5] = h->op;
	p[6] = h->family;
	p[7] = h->nr_ends;
	put_unaligned_be32(h->features, p + 8);
	put_unaligned_be64(h->nonce, p + 16);
	put_unaligned_be64(h->cookie, p + 24);
	put_unaligned_be64(h->token, p + 32);
	memcpy(p + 40, h->instance, 16);
	memcpy(p + 56, h->saddr, 16);
	memcpy(p + 72, h->daddr, 16);
	for (i = 0; i < h->nr_ends && i < KR_HELLO_ENDS; i++)
		put_end(p + HELLO_ENDS_AT + i * KR_END_LEN, &h->ends[i]);
}

bool kr_wire_get_hello(const u8 *p, size_t len, struct kr_hello *h)
{
	int i;

	if (len != KR_HELLO_LEN || memcmp(p, hello_magic, 4) ||
	    p[4] != KR_WIRE_VERSION)
		return false;
	h->op = p[5];
	h->family = p[6];
	h->nr_ends = p[7];
	h->features = get_unaligned_be32(p + 8);
	h->nonce = get_unaligned_be64(p + 16);
	h->cookie = get_unaligned_be64(p + 24);
	h->token = get_unaligned_be64(p + 32);
	memcpy(h->instance, p + 40, 16);
	memcpy(h->saddr, p + 56, 16);
	memcpy(h->daddr, p + 72, 16);
	if (h->op < KR_HELLO_ASK || h->op > KR_HELLO_ANSWER ||
	    (h->family != 4 && h->family != 6) || h->nr_ends > KR_HELLO_ENDS)
		return false;
	for (i = 0; i < h->nr_ends; i++)
		if (!get_end(p + HELLO_ENDS_AT + i * KR_END_LEN, &h->ends[i]))
			return false;
	return true;
}
