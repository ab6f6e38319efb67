// SPDX-License-Identifier: MIT
/*
 * The hello, which the network treats as any other packets: copies of a question
 * go out until the first answer comes, as in kmod/hello.c; what a datagram is and
 * what an answer says is decided by core/discovery.c.
 */
#include "core/discovery.h"
#include "sim.h"

enum { ANY_PORT = 40000 };

#define OPEN_NS (3050 * KR_MSEC)	/* how long a question is open */

static u64 send_ns(u32 i)
{
	return i < KR_HELLO_SENDS ? kr_discovery_send_ns(i) : OPEN_NS;
}

static void put_addr(u8 addr[16], u32 nr)
{
	memset(addr, 0, 16);
	put_unaligned_be32(nr + 1, addr);
}

static void on_send(struct sim *s, void *obj, u64 nonce)
{
	struct sim_peer *p = obj;
	u8 bytes[KR_HELLO_LEN];
	u32 nr;

	if (!p->is_asking || p->ask.nonce != nonce)
		return;
	nr = p->nr_asked++;
	if (nr == KR_HELLO_SENDS) {
		p->is_asking = false;
		return;
	}
	kr_wire_put_hello(bytes, &p->ask);
	sim_net_send(s, p->host->nr, p->to, SIM_QPN_ASK, bytes, sizeof(bytes));
	sim_host_at(p->host, s->now + send_ns(nr + 1) - send_ns(nr), on_send, p, nonce);
}

void sim_hello_ask(struct sim_peer *p)
{
	struct sim *s = p->host->sim;

	if (p->to == p->host->nr) {
		sim_peer_self(p);
		return;
	}
	if (p->is_asking)
		return;
	p->is_asking = true;
	p->nr_asked = 0;
	memset(&p->ask, 0, sizeof(p->ask));
	p->ask.op = KR_HELLO_ASK;
	p->ask.family = 4;
	p->ask.nonce = sim_mix(s->seed ^ ++s->nr_questions << 24);
	memcpy(p->ask.instance, p->host->instance, 16);
	put_addr(p->ask.saddr, p->host->nr);
	put_addr(p->ask.daddr, p->to);
	sim_host_at(p->host, s->now + SIM_WORKER_NS, on_send, p, p->ask.nonce);
}

static void answer(struct sim_host *h, u32 from, const u8 *bytes, u32 len)
{
	u8 out[KR_HELLO_LEN], saddr[16], daddr[16];
	struct kr_hello ask, a;

	switch (kr_discovery_hear(bytes, len, 4, ANY_PORT, &ask)) {
	case KR_HEARD_NOTHING:
		return;
	case KR_HEARD_ASK:
		put_addr(saddr, from);
		put_addr(daddr, h->nr);
		kr_discovery_answer(&a, &ask, h->instance, saddr, daddr);
		a.token = sim_host_token(h, ask.instance);
		a.nr_ends = h->away_ns <= h->sim->now;
		sim_host_end(h, &a.ends[0]);
		break;
	case KR_HEARD_OTHER_VERSION:
		kr_discovery_tell_version(&a, 4, h->instance);
		break;
	}
	kr_wire_put_hello(out, &a);
	sim_net_send(h->sim, h->nr, from, SIM_QPN_ANSWER, out, sizeof(out));
}

static void read_answer(struct sim_peer *p, const u8 *bytes, u32 len)
{
	struct kr_hello a;
	int err;

	if (!p->is_asking)
		return;
	err = kr_discovery_read(bytes, len, &p->ask, &a);
	if (err == -EAGAIN)
		return;
	p->is_asking = false;
	if (err)
		return;
	switch (kr_discovery_judge(&p->ask, &a, p->host->instance)) {
	case KR_JUDGE_USABLE:
		sim_peer_prove(p, &a);
		break;
	case KR_JUDGE_NO_DEVICE:
	case KR_JUDGE_SELF:
		sim_peer_is(p, a.instance);
		break;
	case KR_JUDGE_NAT:
		break;
	}
}

void sim_hello_receive(struct sim_host *h, u32 from, u32 qpn, const u8 *bytes, u32 len)
{
	if (h->is_hello_blocked)
		return;
	if (qpn == SIM_QPN_ASK)
		answer(h, from, bytes, len);
	else
		read_answer(sim_peer(h->sim, h->nr, from), bytes, len);
}
