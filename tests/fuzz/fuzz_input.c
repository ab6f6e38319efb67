// SPDX-License-Identifier: MIT
/*
 * fuzz_input: any packets of a peer whose tag is known, into an association
 * with VQPs in each state.  The first byte of each packet says how much time
 * passes before it, the second how long it is.
 */
#include "unit/pair.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static void start(void)
{
	memset(clients, 0, sizeof(clients));
	memset(servers, 0, sizeof(servers));
	nr_incoming = 0;
	now = KR_SEC;
	pair_init();
	dial(0);
	dial(1);
	pass(5 * KR_MSEC);
	put_zeros(&clients[0].v, 3000);
	kr_vqp_shutdown(&clients[1].v, now);
	settle();
	nr_drop[SERVER] = ~0u;
	dial(2);
	settle();
	nr_drop[SERVER] = 0;
}

static void stop(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		kr_assoc_end(&assocs[i]);
		while (kr_assoc_abort_some(&assocs[i], ECONNRESET, now))
			;
		kr_assoc_clean(&assocs[i]);
	}
	for (i = 0; i < VQPS; i++) {
		if (clients[i].v.opts.orphan_ns)
			kr_vqp_clean(&clients[i].v);
		if (servers[i].v.opts.orphan_ns)
			kr_vqp_clean(&servers[i].v);
	}
	if (nr_pages || nr_blocks)
		abort();
}

static size_t packet(const u8 *p, size_t len)
{
	struct kr_hdr h = { .tag = assocs[SERVER].local_id };
	size_t use = min_t(size_t, len - 2, p[1]);

	now += p[0] * 100 * KR_USEC;
	h.pn = p[0] & 1 ? assocs[SERVER].ch.rx_next : 0;
	h.ack = p[0] & 2 ? assocs[SERVER].ch.next_pn : 0;
	h.body_len = use;
	if (nr_incoming < VQPS - 8)
		kr_assoc_input(&assocs[SERVER], &h, p + 2, now);
	if (p[0] & 4)
		pass(KR_MSEC);
	return 2 + use;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	size_t at = 0;

	start();
	while (len - at > 2)
		at += packet(data + at, len - at);
	pass(10 * KR_MSEC);
	stop();
	return 0;
}
