// SPDX-License-Identifier: MIT
/*
 * Large byte-exact transfers in calls of random sizes (1 B to 1 MiB), both
 * ways at once, on one and on several connections.  --bytes and --streams.
 */
#include "harness.h"

static void up(struct side *s)
{
	int fd = pair(s);

	peer_start(s, 0, AGENT_SINK, H_CONN, 0, 0);
	CHECK_EQ(stream_send(fd, SEED_CASE, 0, s->bytes), s->bytes);
	CHECK_OK(close(fd));
	CHECK_EQ(peer_wait(s), s->bytes);
}

static void down(struct side *s)
{
	int fd = pair(s);

	peer_start(s, 0, AGENT_SEND, H_CONN, 0, s->bytes);
	recv_theirs(fd, 0, s->bytes);
	CHECK_EQ(peer_wait(s), s->bytes);
}

static void both_ways(struct side *s)
{
	int fd = pair(s);

	peer_start(s, 0, AGENT_DUPLEX, H_CONN, s->bytes, s->bytes);
	CHECK_EQ(stream_duplex(fd, SEED_CASE, s->bytes, s->bytes), s->bytes);
	CHECK_EQ(peer_wait(s), s->bytes);
}

struct flow {
	pthread_t thread;
	int fd;
	uint64_t seed;
	uint64_t len;
};

static void *flow_run(void *arg)
{
	struct flow *f = arg;

	CHECK_EQ(stream_duplex(f->fd, f->seed, f->len, f->len), f->len);
	return NULL;
}

static void parallel(struct side *s)
{
	struct flow *f = calloc(s->streams, sizeof(*f));
	uint64_t len = s->bytes / s->streams;

	for (int i = 0; i < s->streams; i++)
		f[i] = (struct flow){ .fd = pair_at(s, H_CONN + i), .len = len,
				      .seed = SEED_CASE + 16 * i };
	peer_start(s, 0, AGENT_DUPLEX_MANY, H_CONN, len, s->streams);
	for (int i = 0; i < s->streams; i++)
		CHECK_EQ(pthread_create(&f[i].thread, NULL, flow_run, &f[i]),
			 0);
	for (int i = 0; i < s->streams; i++)
		pthread_join(f[i].thread, NULL);
	CHECK_EQ(peer_wait(s), len * s->streams);
	free(f);
}

/* Request and answer of every size around the limits of packets and pages. */
static void sizes(struct side *s)
{
	static const int around[] = { 64, 256, 1024, 1500, 2048, 4096, 8192,
				      9000, 16384, 65536 };
	uint64_t pos = 0;
	int fd = pair(s);

	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
		for (int n = around[i] - 2; n <= around[i] + 2; n++) {
			send_ours(fd, pos, n);
			PEER_EQ(s, n, AGENT_RECV, H_CONN, pos, n);
			PEER_EQ(s, n, AGENT_SEND, H_CONN, pos, n);
			recv_theirs(fd, pos, n);
			pos += n;
		}
	}
}

const struct test_case bulk_cases[] = {
	{ "bulk.up", up, BOTH_ENDS },
	{ "bulk.down", down, BOTH_ENDS },
	{ "bulk.both_ways", both_ways, BOTH_ENDS },
	{ "bulk.parallel", parallel, BOTH_ENDS },
	{ "bulk.sizes", sizes, BOTH_ENDS },
	{ 0 },
};
